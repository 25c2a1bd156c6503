#pragma once

/// The usual machine with a card, for names that no cluster's file has.

#include <optional>
#include <string>
#include <vector>

namespace prequel {

class Document;

/// A cluster file that stands for other machines with its card.
struct UsualMachine {
  std::string cluster;
  std::string device;  ///< in place of the cluster file's; empty: as there
};

/// Returns the runs of letters and digits of a text, in lower case.
std::vector<std::string> words_of(const std::string& text);

/// Returns the usual machine with the card that a text names ("8xH100",
/// "NVIDIA H100-SXM5-80GB", "site-a100-40gb"): the entry of `data/stand_ins/machines.json` all of
/// whose words the text has, and of those the one with the most words. Returns nothing where no
/// card is named, or where cards of two kinds are. Throws InputError for a broken table.
std::optional<UsualMachine> usual_machine(const Document& machines, const std::string& text);

}  // namespace prequel
