#pragma once

/// Messages between pipeline stages.

#include <cstdint>

#include "models/job/inputs.hpp"
#include "sim/step/comm_time.hpp"

namespace prequel {

/// Tests whether device links join every rank of a stage to its counterpart on another.
bool stages_are_joined(const Scenario& scenario, std::int64_t from, std::int64_t to);

/// Time of sending one micro batch's hidden states (or their gradients) from a stage to another,
/// as all ranks do at once: over device links where these join the two, else over the network.
CommTime stage_transfer_time(const Scenario& scenario, std::int64_t from, std::int64_t to);

/// All-reduce of the tied embedding's gradient between the first and the last stage.
CommTime tied_embedding_time(const Scenario& scenario);

}  // namespace prequel
