#pragma once

/// A plan as the launch of a training framework: `--emit`.

#include <string>
#include <string_view>
#include <vector>

#include "sim/price/pricing.hpp"

namespace prequel {

class Library;

/// Something that the text cannot say.
struct LeftOut {
  std::string field;  ///< of the plan, the model or the scenario: "zero", "position", "software"
  std::string why;    ///< and where else it can be said
};

struct EmittedPlan {
  std::string text;
  std::vector<LeftOut> left_out;
};

/// Writes the plan as the rules of data/emit/ say for `target`: the command line of Megatron-LM's
/// pretrain_gpt.py or, where the scenario's software is one, Megatron-DeepSpeed's (`megatron`),
/// DeepSpeed's ds_config.json (`deepspeed`), or Python that sets the arguments of PyTorch's
/// fully_shard or, for older software, FullyShardedDataParallel (`fsdp`).
EmittedPlan emit_plan(std::string_view target, const Scenario& scenario, const Library& library);

}  // namespace prequel
