#include "cli/show/cards.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/json/json.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "hw/cluster.hpp"
#include "sim/answer/uncertainty.hpp"

namespace prequel {
namespace {

/// Returns the stacks that runs on a cluster checked, each once.
std::vector<std::string> checked_on(const std::string& cluster, const Uncertainty& uncertainty) {
  std::vector<std::string> stacks;
  for (const CheckedStack& stack : uncertainty.checked) {
    if (std::ranges::find(stack.clusters, cluster, &CheckedCluster::name) == stack.clusters.end()) {
      continue;
    }
    if (std::ranges::find(stacks, stack.software) == stacks.end()) stacks.push_back(stack.software);
  }
  std::ranges::sort(stacks);
  return stacks;
}

/// A cluster's file without what says whose it is and how large.
std::string machine_of(const Document& cluster) {
  nlohmann::json machine = cluster.json();
  for (const char* key : {"name", "origin", "nodes", "software", "expert_software", "like"}) {
    machine.erase(key);
  }
  return machine.dump();
}

/// By the machines that clusters have: the cluster on which the most stacks were checked.
std::map<std::string, std::string> checked_machines(const Library& library,
                                                    const Uncertainty& uncertainty) {
  std::map<std::string, std::string> found;
  for (const std::string& name : library.names("clusters")) {
    const std::size_t stacks = checked_on(name, uncertainty).size();
    if (stacks == 0) continue;
    const auto [same, is_new] = found.emplace(machine_of(library.open("clusters", name)), name);
    if (!is_new && checked_on(same->second, uncertainty).size() < stacks) same->second = name;
  }
  return found;
}

}  // namespace

std::vector<Card> cards(const Library& library) {
  const Document table = library.open("stand_ins", "machines");
  const Cursor root = table.root();
  expect_schema(root, "prequel/machines/1");
  const Uncertainty uncertainty = shipped_uncertainty(library);
  std::vector<Card> cards;
  for (const Cursor& machine : root.at("machines").items()) {
    const auto device = machine.find("device");
    Card card{machine.at("card").text(),
              machine.at("cluster").text(),
              device ? device->text() : std::string(),
              0,
              {}};
    const auto same = std::ranges::find_if(cards, [&](const Card& other) {
      return other.cluster == card.cluster && other.device == card.device;
    });
    if (same != cards.end()) continue;
    card.devices = read_cluster(library.open("clusters", card.cluster)).devices_per_node;
    card.checked = checked_on(card.cluster, uncertainty);
    cards.push_back(std::move(card));
  }
  return cards;
}

Json cards_json(const Library& library) {
  return list_json(cards(library), [](const Card& card) {
    return Json{{"card", card.name},
                {"cluster", card.cluster},
                {"device", card.device},
                {"devices", card.devices},
                {"checked", card.checked}};
  });
}

std::string known_clusters_text(const Library& library) {
  const std::vector<Card> usual = cards(library);
  const Uncertainty uncertainty = shipped_uncertainty(library);
  std::string text;
  const std::map<std::string, std::string> checked_elsewhere =
      checked_machines(library, uncertainty);
  for (const std::string& name : library.names("clusters")) {
    const Document file = library.open("clusters", name);
    const auto card = std::ranges::find_if(
        usual, [&](const Card& one) { return one.cluster == name && one.device.empty(); });
    const std::vector<std::string> checked = checked_on(name, uncertainty);
    std::string line = fmt::format("{:<28} {:<28} {}", name,
                                   fmt::format("{} x {}", read_cluster(file).devices_per_node,
                                               file.json().at("device").get<std::string>()),
                                   card == usual.end() ? "" : "usual " + card->name + "  ");
    if (!checked.empty()) line += fmt::format("checked: {}", fmt::join(checked, ", "));
    const auto same = checked_elsewhere.find(machine_of(file));
    if (checked.empty() && same != checked_elsewhere.end()) {
      line += fmt::format("the machine of {}, which is checked", same->second);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace prequel
