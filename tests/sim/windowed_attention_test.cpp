/// What the backward of windowed attention costs: blocks times length, never a share of full.

#include <doctest/doctest.h>

#include "sim/price/pricing.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// Seconds of the attention kernels of a block, backward.
double backward(const Scenario& scenario, Part part) {
  double seconds = 0;
  for (const KernelCost& kernel : price_kernels(scenario)[part].backward) {
    if (kernel.kind == WorkKind::attention && !kernel.repeated) seconds += kernel.seconds;
  }
  return seconds;
}

Scenario at_length(const std::string& model, std::int64_t seq_len, const Settings& more = {}) {
  Settings settings{{"plan.nodes", "4"},
                    {"plan.mbs", "1"},
                    {"plan.gbs", "32"},
                    {"plan.recompute", "full"},
                    {"plan.seq_len", std::to_string(seq_len)}};
  settings.insert(settings.end(), more.begin(), more.end());
  return planned(model, "dgx-b200", "megatron-core-2026", settings);
}

TEST_CASE("the backward of windowed attention is linear in the length of sequences") {
  for (const auto& [model, part] : {std::pair{"gpt-oss-20b", Part::windowed_experts_block},
                                    std::pair{"gemma-3-27b", Part::windowed_dense_block}}) {
    CAPTURE(model);
    const double at_32k = backward(at_length(model, 32768), part);
    const double at_128k = backward(at_length(model, 131072), part);
    CHECK(at_128k / at_32k == doctest::Approx(4).epsilon(0.03));
    // A query costs its window and the edges of its blocks, at the rate of full attention.
    const double without = backward(
        at_length(model, 32768, {{"software.kernels.windowed_backward_share", "0"}}), part);
    CHECK(at_32k > without);
    CHECK(at_32k < 2 * without);
  }
}

TEST_CASE("the backward of a window takes at 4,096 tokens what runs of GPT-OSS were met with") {
  const Scenario scenario = at_length("gpt-oss-20b", 4096);
  const double windowed = backward(scenario, Part::windowed_experts_block);
  const double full = backward(scenario, Part::experts_block);
  CHECK(windowed / full == doctest::Approx(0.8).epsilon(0.02));
}

TEST_CASE("a window never costs more than none") {
  for (const std::int64_t seq_len : {256, 1024, 4096, 65536}) {
    CAPTURE(seq_len);
    const Scenario scenario = at_length("gpt-oss-20b", seq_len);
    CHECK(backward(scenario, Part::windowed_experts_block) <=
          backward(scenario, Part::experts_block));
  }
}

}  // namespace
}  // namespace prequel
