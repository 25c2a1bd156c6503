#include "models/job/spelled_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/spelled_count.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMost = 1LL << 24;  // of any size of a plan

bool is_whole(double value) {
  return value >= 1 && value <= static_cast<double>(kMost) && value == std::floor(value);
}

/// Returns the value of a plan's field, as overrides or the job say it; else `fallback`.
std::int64_t field(const std::vector<Override>& overrides, const nlohmann::json& plan,
                   const std::string& name, std::int64_t fallback) {
  const auto said = std::ranges::find(overrides, "plan." + name, &Override::path);
  if (said != overrides.end()) return parse_integer(said->value).value_or(fallback);
  const auto found = plan.find(name);
  return found != plan.end() && found->is_number_integer() ? found->get<std::int64_t>() : fallback;
}

}  // namespace

std::string sequences_of(const std::string& from, const std::string& text, std::int64_t seq_len) {
  if (!is_spelled_count(text)) return text;
  const double tokens = *spelled_count(text, Thousand::binary);
  const double sequences = tokens / static_cast<double>(std::max<std::int64_t>(1, seq_len));
  if (is_whole(sequences)) return fmt::format("{}", static_cast<std::int64_t>(sequences));
  throw InputError(fmt::format(
      "{} {}: {:.0f} tokens are {:.6g} sequences of {}; {} {:.0f} would do", from, printable(text),
      tokens, sequences, seq_len, from, std::max(1.0, std::round(sequences))));
}

std::string tokens_of(const std::string& text) {
  if (!is_spelled_count(text)) return text;
  const double tokens = *spelled_count(text, Thousand::binary);
  return is_whole(tokens) ? fmt::format("{:.0f}", tokens) : text;
}

std::int64_t nodes_of_gpus(const std::string& from, std::int64_t gpus, const Cluster& cluster) {
  const std::int64_t per_node = cluster.devices_per_node;
  if (gpus >= per_node && gpus % per_node == 0) return gpus / per_node;
  const std::int64_t below = gpus / per_node * per_node;
  throw InputError(fmt::format("{} {}: {} has {} GPUs a node; {}{} would do", from, gpus,
                               cluster.name, per_node,
                               below > 0 ? fmt::format("{} or ", below) : "", below + per_node));
}

bool splits_sequences(const PlanRequest& plan) {
  return plan.cp.value_or(1) > 1;
}

std::vector<Override> in_plan_terms(std::vector<Override> overrides, const nlohmann::json& plan,
                                    const Transformer& model, const Cluster& cluster) {
  for (Override& one : overrides) {
    if (one.path == "plan.seq_len") one.value = tokens_of(one.value);
  }
  const std::int64_t seq_len = field(overrides, plan, "seq_len", model.max_positions);
  for (Override& one : overrides) {
    if (one.path == "plan.gbs") one.value = sequences_of(one.from, one.value, seq_len);
  }
  const auto said = std::ranges::find(overrides, "plan.gpus", &Override::path);
  if (said == overrides.end()) return overrides;
  const auto gpus = parse_integer(said->value);
  if (!gpus || *gpus < 1 || *gpus > kMost) {
    throw InputError(fmt::format("{} {}: expected a number of GPUs from 1 to {}", said->from,
                                 printable(said->value), kMost));
  }
  if (*gpus >= cluster.devices_per_node) {
    said->path = "plan.nodes";
    said->value = fmt::format("{}", nodes_of_gpus(said->from, *gpus, cluster));
    return overrides;
  }
  std::int64_t replica = 1;
  for (const char* degree : {"tp", "pp", "cp"}) replica *= field(overrides, plan, degree, 1);
  if (replica < 1 || *gpus % replica != 0) {
    throw InputError(fmt::format("{} {}: no multiple of tp x pp x cp = {}; {} would do", said->from,
                                 *gpus, replica, std::max<std::int64_t>(1, replica)));
  }
  said->path = "plan.dp";
  said->value = fmt::format("{}", *gpus / replica);
  // A part of one node is no whole number of them.
  std::erase_if(overrides,
                [](const Override& one) { return one.path == "plan.nodes" && one.value == "1"; });
  return overrides;
}

}  // namespace prequel
