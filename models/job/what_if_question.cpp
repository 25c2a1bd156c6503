#include "models/job/what_if_question.hpp"

#include <charconv>

#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000;
constexpr Range kSpeedLeft{0.01, 1.0};  // of a node that still takes part; below, jobs time out
constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;  // JSON numbers are exact up to here

SlowNode read_slow_node(const std::string& node, const Cursor& speed) {
  SlowNode slow;
  const char* end = node.data() + node.size();
  const auto [stop, error] = std::from_chars(node.data(), end, slow.node);
  if (error != std::errc{} || stop != end) {
    speed.problem("expected the number of a node as key, such as \"7\"");
  }
  slow.speed = speed.number(kSpeedLeft);
  return slow;
}

}  // namespace

WhatIf read_what_if(const Cursor& cursor) {
  WhatIf what_if;
  if (const auto nodes = cursor.find("slow_nodes")) {
    for (const auto& [node, speed] : nodes->members()) {
      what_if.slow_nodes.push_back(read_slow_node(node, speed));
    }
  }
  if (const auto levels = cursor.find("link_fractions")) {
    for (const auto& [level, fraction] : levels->members()) {
      what_if.link_fractions.push_back({level, fraction.number({0.0, 1.0, true})});
    }
  }
  const auto jitter = cursor.find("jitter");
  if (jitter) what_if.jitter = jitter->number(kFraction);
  const auto seed = cursor.find("seed");
  if (seed) what_if.seed = static_cast<std::uint64_t>(seed->integer(0, kLargestSeed));
  const auto samples = cursor.find("samples");
  if (samples) what_if.samples = static_cast<std::uint32_t>(samples->integer(1, kMostSamples));
  for (const auto& of_jitter : {seed, samples}) {
    if (of_jitter && !jitter) of_jitter->problem("has no effect without jitter");
  }
  return what_if;
}

}  // namespace prequel
