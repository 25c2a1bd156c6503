#pragma once

/// Machines that stand in for one that no file describes.

#include <optional>
#include <string>

#include "hw/device.hpp"

namespace prequel {

class Library;

/// A cluster file that stands for other machines with its card.
struct UsualMachine {
  std::string cluster;
  std::string device;  ///< in place of the cluster file's; empty: as there
};

/// The usual machine with the card that a text names ("NVIDIA H100-SXM5-80GB", "site-a100-40gb"):
/// the entry of `data/stand_ins/machines.json` all of whose words the text has; the one with most
/// words. Empty where no card is named, or cards of two kinds are.
std::optional<UsualMachine> usual_machine(const Library& library, const std::string& text);

/// Tests whether a text names another card than the device: one of another name and other peaks or
/// memory, or the same with memory of another size. A text that names none is of no other.
bool is_other_card(const Library& library, const std::string& text, const Device& device);

}  // namespace prequel
