/// Whatever is set of a cluster, the answer is a number or a refusal: never a crash, and never less
/// than no time.

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

struct Leaf {
  std::string path;
  bool is_number{};
};

void add_leaves(const Json& value, const std::string& path, std::vector<Leaf>& leaves) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (key != "origin" && key != "name" && key != "schema" && key != "like") {
        add_leaves(member, path + "." + key, leaves);
      }
    }
  } else if (value.is_number() || value.is_string()) {
    leaves.push_back({path, value.is_number()});
  }
}

TEST_CASE("whatever is set of a cluster is priced or refused") {
  const std::vector<std::string> numbers{"0",  "1",    "2",    "7",    "0.5", "-1",
                                         "64", "1000", "1e-9", "1e18", "x"};
  const std::vector<std::string> words{"1 B/s", "1 TB/s",   "1 Gbit/s", "1 GiB", "none",
                                       "0",     "fat-tree", "host",     "torus", "ring"};
  std::mt19937 random(35);
  const auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
  const Library library = shipped_library();
  int priced = 0, refused = 0;
  for (const std::string& cluster : library.names("clusters")) {
    CAPTURE(cluster);
    std::vector<Leaf> leaves;
    add_leaves(library.open("clusters", cluster).json(), "cluster", leaves);
    for (int i = 0; i < 64; ++i) {
      // The devices of a node decide what groups reach beyond it.
      const Leaf leaf = i == 0 ? Leaf{"cluster.fabric.node.devices", true} : one_of(leaves);
      const std::string value = i == 0 ? "1" : (leaf.is_number ? one_of(numbers) : one_of(words));
      CAPTURE(leaf.path);
      CAPTURE(value);
      const bool experts = i % 3 == 2;
      try {
        const Scenario scenario = planned(experts ? "qwen3-30b-a3b" : "llama-3-8b", cluster, "",
                                          {{"plan.tp", i % 2 == 0 ? "1" : "2"},
                                           {"plan.pp", i % 4 == 3 ? "2" : "1"},
                                           {"plan.ep", experts ? "2" : "1"},
                                           {"plan.mbs", "1"},
                                           {"plan.gbs", "512"},
                                           {"plan.seq_len", "2048"},
                                           {leaf.path, value}});
        const double seconds = predict(scenario).sec_per_iter.value;
        CHECK(std::isfinite(seconds));
        CHECK(seconds > 0);
        ++priced;
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  CHECK(priced > refused / 10);
}

}  // namespace
}  // namespace prequel
