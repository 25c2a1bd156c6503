/// Cost of the backward of windowed attention: blocks times length, never a share of full.

#include <doctest/doctest.h>

#include "sim/price/pricing.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// Seconds of the attention kernels of a layer of that span, backward.
double backward(const Scenario& scenario, AttentionSpan span) {
  Part part = Part::head;
  each_kind(LayerKinds(scenario.model), [&](Part of, LayerKind kind) {
    if (kind.span == span) part = of;
  });
  double seconds = 0;
  for (const KernelCost& kernel :
       price_kernels(layer_question(scenario.plan, scenario.cluster), scenario)[part].backward) {
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
  for (const char* model : {"gpt-oss-20b", "gemma-3-27b"}) {
    constexpr AttentionSpan part = AttentionSpan::window;
    CAPTURE(model);
    const double at_32k = backward(at_length(model, 32768), part);
    const double at_128k = backward(at_length(model, 131072), part);
    CHECK(at_128k / at_32k == doctest::Approx(4).epsilon(0.03));
    // A query costs its window and the edges of its blocks, whatever the length.
    const double blocks = 131072.0 / 4096 * backward(at_length(model, 4096), part);
    CHECK(at_128k == doctest::Approx(blocks).epsilon(0.2));
    CHECK(at_128k < 0.1 * backward(at_length(model, 131072), AttentionSpan{}));
  }
}

TEST_CASE("a window never costs more than none") {
  for (const std::int64_t seq_len : {256, 1024, 4096, 65536}) {
    CAPTURE(seq_len);
    const Scenario scenario = at_length("gpt-oss-20b", seq_len);
    CHECK(backward(scenario, AttentionSpan::window) <= backward(scenario, AttentionSpan{}));
  }
}

}  // namespace
}  // namespace prequel
