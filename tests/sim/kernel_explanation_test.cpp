#include "sim/price/kernel_explanation.hpp"

#include <doctest/doctest.h>

#include "sim/step/step.hpp"
#include "tests/scenarios.hpp"
#include "tests/sim/explained_kernels.hpp"

namespace prequel {
namespace {

double explained_seconds(const std::vector<ExplainedKernel>& kernels, std::string_view part,
                         bool forward) {
  double sum = 0;
  for (const ExplainedKernel& kernel : kernels) {
    if (kernel.part == part && (kernel.pass == "forward") == forward) sum += kernel.seconds;
  }
  return sum;
}

PartCounts twelve_blocks() {
  PartCounts parts;
  parts[Part::embedding] = 1;
  parts[Part::first_block] = 12;
  parts[Part::head] = 1;
  return parts;
}

TEST_CASE("the explained kernels add up to what the layers cost") {
  for (const char* recompute : {"none", "selective", "full"}) {
    for (const char* attention : {"unfused", "fused-softmax", "flash"}) {
      CAPTURE(recompute);
      CAPTURE(attention);
      const Scenario asked = shipped_scenario({{"plan.recompute", recompute},
                                               {"plan.attention", attention},
                                               {"software.kernels.flash_kernel", "flash-2"}});
      const LayerCosts costs = price_layers(asked);
      const auto kernels = explained(asked, twelve_blocks());
      CHECK(explained_seconds(kernels, "block", true) ==
            doctest::Approx(costs[Part::first_block].forward.total()));
      CHECK(explained_seconds(kernels, "block", false) ==
            doctest::Approx(costs[Part::first_block].backward.total()));
      CHECK(explained_seconds(kernels, "head", true) ==
            doctest::Approx(costs[Part::head].forward.total()));
      CHECK(explained_seconds(kernels, "head", false) ==
            doctest::Approx(costs[Part::head].backward.total()));
      CHECK(explained_seconds(kernels, "embedding", true) ==
            doctest::Approx(costs[Part::embedding].forward.total()));
    }
  }
}

TEST_CASE("kernels of a block run once a block and micro batch, those of the head once a batch") {
  for (const ExplainedKernel& kernel : explained(shipped_scenario(), twelve_blocks())) {
    CHECK(kernel.count == (kernel.part == "block" ? 12 * 64 : 64));
  }
}

TEST_CASE(
    "the software stack stretches products by its factor and blocking collectives by theirs") {
  const Scenario asked = shipped_scenario({});
  for (const ExplainedKernel& kernel : explained(asked, twelve_blocks())) {
    const double factor = kernel.seconds / kernel.price.time.value;
    if (kernel.name == "qkv") {
      CHECK(factor == doctest::Approx(asked.software.kernels.gemm_time_factor));
    }
    if (kernel.name == "mlp all-reduce") {
      CHECK(factor == doctest::Approx(asked.software.communication.blocking_collective_factor));
    }
    if (kernel.name == "pointwise") CHECK(factor == doctest::Approx(1.0));
  }
}

}  // namespace
}  // namespace prequel
