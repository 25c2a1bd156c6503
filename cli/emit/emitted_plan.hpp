#pragma once

/// A plan as the launch of a training framework: `--emit`.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/price/pricing.hpp"

namespace prequel {

/// Something that the text cannot say.
struct LeftOut {
  std::string field;  ///< of the plan, the model or the scenario: "zero", "position", "software"
  std::string why;    ///< and where else it can be said
};

struct EmittedPlan {
  std::string text;
  std::vector<LeftOut> left_out;
};

/// Returns the parts of a plan that frameworks which only wrap layers leave to the model's code;
/// each where the plan has it.
std::vector<LeftOut> left_to_model_code(const Scenario& scenario);

/// The command line of Megatron-LM's pretrain_gpt.py, or of Megatron-DeepSpeed's where the
/// scenario's software is one: launcher, model, batch, degrees and memory.
EmittedPlan emit_megatron(const Scenario& scenario);
/// DeepSpeed's ds_config.json.
EmittedPlan emit_deepspeed(const Scenario& scenario);
/// Python that sets the arguments of PyTorch's fully_shard or, where the scenario's software is
/// older, FullyShardedDataParallel.
EmittedPlan emit_fsdp(const Scenario& scenario);

struct EmitTarget {
  std::string_view name;
  EmittedPlan (*emit)(const Scenario& scenario);
};
inline constexpr std::array kEmitTargets{EmitTarget{"megatron", emit_megatron},
                                         EmitTarget{"deepspeed", emit_deepspeed},
                                         EmitTarget{"fsdp", emit_fsdp}};

}  // namespace prequel
