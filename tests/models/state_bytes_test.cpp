#include "models/memory/state_bytes.hpp"

#include <doctest/doctest.h>

#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

struct States {
  double weights, gradients, optimizer, gathered;
  bool operator==(const States&) const = default;
};

States states(const char* software, Precision precision, Precision grad_precision) {
  Plan plan;
  plan.precision = precision;
  plan.grad_precision = grad_precision;
  const StateBytes bytes = state_bytes(plan, shipped_software(software));
  return {bytes.weights, bytes.gradients, bytes.optimizer, bytes.gathered};
}

constexpr Precision bf16 = Precision::bf16;
constexpr Precision fp16 = Precision::fp16;
constexpr Precision fp32 = Precision::fp32;
constexpr Precision tf32 = Precision::tf32;

TEST_CASE("half-precision weights with fp32 gradients take 2 + 4 + 12 bytes") {
  for (const char* stack : {"megatron-lm-2021", "megatron-core-2024"}) {
    CHECK(states(stack, bf16, fp32) == States{2, 4, 12, 2});
  }
}

TEST_CASE("half-precision gradients take 2 bytes, and 4 more while the optimizer updates") {
  Plan plan;
  plan.precision = plan.grad_precision = bf16;
  CHECK(state_bytes(plan, shipped_software("megatron-core-2024")).updating == 4);
  plan.grad_precision = fp32;
  CHECK(state_bytes(plan, shipped_software("megatron-core-2024")).updating == 0);
  CHECK(states("megatron-core-2024", bf16, bf16) == States{2, 2, 12, 2});
  CHECK(states("megatron-lm-2021", fp16, fp16) == States{2, 2, 12, 2});
}

TEST_CASE("a stack that reduces in 16 bits by default counts fp32 gradients when they are asked") {
  CHECK(shipped_software("mlperf-v5.1").defaults.grad_precision == bf16);
  CHECK(states("mlperf-v5.1", bf16, bf16) == States{2, 2, 12, 2});
  CHECK(states("mlperf-v5.1", bf16, fp32) == States{2, 4, 12, 2});
}

TEST_CASE(
    "DeepSpeed's optimizer for bf16 accumulates whole gradients in fp32, and shards the rest") {
  Plan plan;
  plan.precision = bf16;
  plan.grad_precision = bf16;
  const Software stack = shipped_software("megatron-deepspeed-bf16-2022");
  const StateBytes bytes = state_bytes(plan, stack);
  CHECK(bytes.weights + bytes.gradients == 2 + 2 + 4);
  CHECK(bytes.optimizer == 12);
}

TEST_CASE("moments in bf16 take four bytes less, and are told of one by one") {
  Plan plan;
  plan.precision = plan.moments_precision = bf16;
  plan.grad_precision = fp32;
  const Software stack = shipped_software("megatron-core-2026");
  CHECK(state_bytes(plan, stack).optimizer == 8);
  CHECK(state_bytes(plan, stack).moment == 2);
  plan.moments_precision = fp32;
  CHECK(state_bytes(plan, stack).optimizer == 12);
}

TEST_CASE("adapters in fp32 have moments in fp32, tables beside them states of 16 bits") {
  Plan plan;
  plan.precision = bf16;
  plan.tuning = Tuning::lora;
  plan.adapter_precision = plan.moments_precision = fp32;
  const StateBytes adapters = state_bytes(plan, shipped_software("hf-peft-2023"));
  CHECK(adapters.weights + adapters.gradients + adapters.optimizer == 4 + 4 + 8);
  const StateBytes tables = with_tables(adapters, plan, 1);
  CHECK(tables.weights + tables.gradients + tables.optimizer == 2 * 2 + 2 + 4);  // and the original
  CHECK(with_tables(adapters, plan, 0.25).optimizer == doctest::Approx(0.75 * 8 + 0.25 * 4));
  plan.adapter_precision = bf16;
  CHECK(with_tables(adapters, plan, 1).optimizer == 8);  // which have a copy in fp32, too
}

TEST_CASE("DeepSpeed's engine keeps 2 + 2 + 12 bytes of what learns, adapters or not") {
  Plan plan;
  plan.precision = plan.grad_precision = plan.adapter_precision = bf16;
  plan.tuning = Tuning::lora;
  plan.master_weights = MasterWeights::fp32;
  const StateBytes bytes = state_bytes(plan, shipped_software("hf-peft-deepspeed-2023"));
  CHECK(bytes.weights + bytes.gradients + bytes.optimizer == 2 + 2 + 12);
  CHECK(bytes.updating == 4);
}

TEST_CASE("weights are gathered in fp8 where that is asked for, and no format has two copies") {
  Plan plan;
  plan.precision = Precision::fp8;
  const Software stack = shipped_software("megatron-core-2026");
  CHECK(state_bytes(plan, stack).gathered == 2);
  plan.fp8_param_gather = true;
  CHECK(state_bytes(plan, stack).gathered == 1);
  plan.fp8_recipe = Fp8Recipe::mxfp8;
  CHECK(state_bytes(plan, stack).gathered == 2);
}

TEST_CASE("in fp32 and tf32 nothing is kept twice") {
  for (const char* stack : {"megatron-lm-2021", "megatron-core-2024", "megatron-deepspeed-2022",
                            "deepspeed-megatron-2020", "deepspeed-zero3-2021"}) {
    CHECK(states(stack, fp32, fp32) == States{4, 4, 8, 4});
    CHECK(states(stack, tf32, fp32) == States{4, 4, 8, 4});
  }
}

TEST_CASE("stacks whose optimizer holds an fp32 gradient anyway do not ask how it is reduced") {
  CHECK(states("megatron-deepspeed-2022", bf16, bf16) == States{2, 2, 16, 2});
  CHECK(states("megatron-deepspeed-2022", bf16, fp32) == States{2, 2, 16, 2});
  CHECK(states("deepspeed-zero3-2021", fp16, fp32) == States{2, 2, 16, 2});
}

TEST_CASE("fp32 weights have fp32 gradients, however they are reduced and gathered") {
  for (const char* stack : {"composer-2023", "pytorch-fsdp2-2024"}) {
    CHECK(states(stack, bf16, fp32) == States{4, 4, 8, 2});
    CHECK(states(stack, bf16, bf16) == States{4, 4, 8, 2});
    CHECK(states(stack, fp32, fp32) == States{4, 4, 8, 4});
  }
  CHECK(states("megatron-a64fx-2022", fp32, fp32) == States{4, 4, 8, 4});
}

}  // namespace
}  // namespace prequel
