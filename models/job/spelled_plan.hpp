#pragma once

/// Plans as people say them: a number of GPUs, a batch in tokens, a length of 8k.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hw/cluster.hpp"
#include "models/axes/plan_request.hpp"
#include "models/job/override.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

/// Returns the sequences of a batch (`text`: 512, or 4M tokens of `seq_len` each). Throws
/// InputError that begins with `from` where they are no whole number.
std::string sequences_of(const std::string& from, const std::string& text, std::int64_t seq_len);

/// Returns the tokens of a sequence: 8k is 8192; other texts as they are.
std::string tokens_of(const std::string& text);

/// Returns the nodes that so many GPUs fill. Throws InputError where they fill none.
std::int64_t nodes_of_gpus(const std::string& from, std::int64_t gpus, const Cluster& cluster);

/// Tests whether sequences are split over ranks.
bool splits_sequences(const PlanRequest& plan);

/// Returns the overrides with such values in the plan's own terms. `plan` is the job file's. GPUs
/// of a part of a node become the data-parallel degree that the other degrees leave.
std::vector<Override> in_plan_terms(std::vector<Override> overrides, const nlohmann::json& plan,
                                    const Transformer& model, const Cluster& cluster);

}  // namespace prequel
