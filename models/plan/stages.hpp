#pragma once

/// How the blocks of a transformer are dealt to pipeline stages.

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/stage_content.hpp"
#include "models/stack/software.hpp"

namespace prequel {

struct Plan;

/// Deals `layers` blocks to pp·vpp chunks in model order: chunk c of stage i is entry c·pp + i.
/// The counts follow the framework (`dealing`, `split`); a dealing that the framework refuses is
/// for `stage_problem` to name, here the counts are what it would give.
std::vector<StageContent> deal_stages(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                                      StageDealing dealing, StageSplit split);

/// Returns the content of each chunk of a plan, with its parts.
std::vector<StageContent> chunks_of_plan(const Transformer& model, const Plan& plan,
                                         const Software& software);

/// Why the framework refuses to deal `layers` to pp·vpp chunks, with the nearest legal count; empty
/// when it does not. Where chunks are equal and embedding and head count as a layer each, they can
/// be all that a chunk holds.
std::string stage_problem(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                          StageDealing dealing, StageSplit split);

}  // namespace prequel
