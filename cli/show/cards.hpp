#pragma once

/// The usual machine with each card, and where stacks were checked.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/job/library.hpp"

namespace prequel {

/// One entry of `data/stand_ins/machines.json`.
struct Card {
  std::string name;                  ///< as people call it: "h100"
  std::string cluster;               ///< the usual machine with it
  std::string device;                ///< in place of the cluster file's; empty: as there
  std::int64_t devices{};            ///< of one node
  std::vector<std::string> checked;  ///< stacks whose constants runs on this cluster checked
};

/// Returns each machine once, by the shortest name of its card.
std::vector<Card> cards(const Library& library);

/// Returns the cards as a list of objects.
nlohmann::ordered_json cards_json(const Library& library);

/// Returns a line a cluster: its name, its card and how many a node has, which card it is the usual
/// machine of, and the stacks that were checked on it, or which cluster of the same machines was.
std::string known_clusters_text(const Library& library);

}  // namespace prequel
