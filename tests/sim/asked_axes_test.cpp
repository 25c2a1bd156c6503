/// Effect of every axis: each value changes the prediction, is refused, or brings a warning, on
/// plans of several kinds.

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/overlap.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

using AskedValues = std::map<std::string, std::string>;  // JSON of values, by axis

struct Base {
  const char* model;
  const char* cluster;
  const char* software;
  AskedValues plan;
};

const std::vector<Base>& bases() {
  static const std::vector<Base> all{
      {"llama-3-8b",
       "nvidia-dgx-h100",
       "megatron-core-2026",
       {{"nodes", "4"},
        {"tp", "2"},
        {"pp", "2"},
        {"cp", "2"},
        {"vpp", "2"},
        {"gbs", "64"},
        {"mbs", "4"},  // so that collectives of tensor ranks are long enough for user buffers
        {"seq_len", "8192"},
        {"zero", "1"}}},
      {"qwen3-30b-a3b",
       "nvidia-dgx-b200",
       "megatron-core-2026",
       {{"nodes", "4"},
        {"ep", "16"},
        {"gbs", "128"},
        {"seq_len", "4096"},
        {"zero", "1"},
        {"dispatcher", "alltoall"},
        {"precision", "fp8"},
        {"recompute", "selective"}}},
      {"deepseek-v2-lite",
       "nvidia-dgx-h100",
       "megatron-core-2026",
       {{"nodes", "4"},
        {"tp", "2"},
        {"pp", "2"},
        {"ep", "8"},
        {"gbs", "128"},
        {"mbs", "4"},
        {"seq_len", "8192"},
        {"zero", "1"},
        {"dispatcher", "alltoall"},
        {"recompute", "full"}}},
      {"llama-3-8b",
       "nvidia-dgx-h100",
       "torchtitan-2025",
       {{"nodes", "4"}, {"gbs", "128"}, {"seq_len", "8192"}, {"zero", "3"}}},
      {"bloom-176b",
       "jean-zay-a100",
       "megatron-deepspeed-2022",
       {{"nodes", "48"},
        {"tp", "4"},
        {"pp", "12"},
        {"gbs", "2048"},
        {"mbs", "2"},
        {"zero", "1"},
        {"recompute", "full"}}},
      {"llama-3-8b",
       "nvidia-dgx-h100",
       "megatron-core-2026",
       {{"nodes", "1"}, {"gbs", "16"}, {"seq_len", "4096"}, {"zero", "0"}}},
  };
  return all;
}

/// The answer about a plan: as it resolves, or why it is refused.
struct PlanAnswer {
  std::string refusal;
  std::vector<std::string> warnings;
  Plan plan;
  Software software;
  std::vector<double> numbers;  ///< seconds and bytes
};

PlanAnswer answer_to(const Base& base, const AskedValues& more) {
  JobRequest request;
  request.model = base.model;
  request.cluster = base.cluster;
  request.software = base.software;
  AskedValues plan = base.plan;
  for (const auto& [axis, value] : more) plan[axis] = value;
  for (const auto& [axis, value] : plan) request.overrides.push_back({"plan." + axis, value});
  PlanAnswer result;
  try {
    const ResolvedScenario resolved = resolve(read_job(shipped_library(), request));
    const Prediction prediction = predict(resolved.scenario);
    result.plan = resolved.scenario.plan;
    result.software = resolved.scenario.software;
    result.warnings = resolved.warnings;
    result.warnings.insert(result.warnings.end(), prediction.warnings.begin(),
                           prediction.warnings.end());
    result.numbers = {prediction.sec_per_iter.value, prediction.flops.hardware.value};
    for (const StagePrediction& stage : prediction.stages) {
      result.numbers.push_back(stage.memory.needed().value);
      result.numbers.push_back(stage.time.total() - stage.time.bubble);
    }
  } catch (const InputError& error) {
    result.refusal = error.what();
  }
  return result;
}

std::vector<std::string> values_of(const Domain<std::int64_t>& domain) {
  std::vector<std::string> values;
  for (const std::int64_t value : {0, 1, 2, 4, 8, 16, 2048}) {
    if (value >= domain.least && value <= domain.most) values.push_back(std::to_string(value));
  }
  return values;
}
std::vector<std::string> values_of(const Domain<double>& /*domain*/) {
  return {"0.0", "0.5", "1.0"};
}
std::vector<std::string> values_of(const Domain<bool>& /*domain*/) {
  return {"true", "false"};
}
template <Worded Enum>
std::vector<std::string> values_of(const Domain<Enum>& domain) {
  return {words(domain).begin(), words(domain).end()};
}
template <Worded Enum>
std::vector<std::string> values_of(const Domain<WordSet<Enum>>& /*domain*/) {
  std::vector<std::string> values{"none"};
  for (const std::string_view word : kWordsOf<Enum>) values.emplace_back(word);
  return values;
}
std::vector<std::string> values_of(const Domain<std::string>& domain) {
  if (domain.usual.empty()) return {"Et*16|t*16L", "Et*10|t*22L"};
  return {"forced", "dropped", "dropped:1.25", "natural"};
}

/// Tests whether two plans are one to the hardware: formats of equal bytes and rates, overlap that
/// the stack has by itself, sets that name what is there by default.
bool alike(const Plan& first, const Plan& second, const Software& software) {
  Plan one = first;
  Plan other = second;
  for (Plan* plan : {&one, &other}) {
    for (Precision* format : {&plan->precision, &plan->grad_precision, &plan->moments_precision,
                              &plan->dispatch_precision}) {
      if (*format == Precision::fp16) *format = Precision::bf16;
      if (*format == Precision::tf32 && format != &plan->precision) *format = Precision::fp32;
    }
    WordSet<Overlapped> overlap;
    if (reduces_beside(*plan, software)) overlap.add(Overlapped::grads);
    const bool at_once = gathers_of(*plan, software) != Gathers::updates;
    if (gathers_beside(*plan, software) && (at_once || overlap.has(Overlapped::grads))) {
      overlap.add(Overlapped::params);
    }
    if (sends_beside(*plan, software)) overlap.add(Overlapped::p2p);
    for (const Overlapped each :
         {Overlapped::tp, Overlapped::ep, Overlapped::wgrad, Overlapped::shared_experts}) {
      if (plan->overlap.has(each) && (each != Overlapped::tp || plan->tp > 1)) overlap.add(each);
    }
    plan->overlap = overlap;
    if (plan->recompute == Recompute::selective && plan->recompute_modules.empty()) {
      plan->recompute_modules.add(RecomputeModule::core_attn);
    }
    if (plan->fp8_recipe == Fp8Recipe::none) plan->fp8_recipe = Fp8Recipe::current;
    if (plan->vpp_group == plan->pp) plan->vpp_group = 0;
  }
  bool equal = true;
  each_axis([&](const auto& axis) { equal = equal && axis.of(one) == axis.of(other); });
  return equal;
}

TEST_CASE("every value of every axis is priced, refused or warned of") {
  for (const Base& base : bases()) {
    const PlanAnswer before = answer_to(base, {});
    REQUIRE(before.refusal == "");
    each_axis([&](const auto& axis) {
      for (const std::string& value : values_of(axis.domain)) {
        const std::string asked =
            fmt::format("{} on {}: {} {}", base.model, base.software, axis.name, value);
        CAPTURE(asked);
        const PlanAnswer after = answer_to(base, {{std::string(axis.name), value}});
        if (!after.refusal.empty()) continue;
        if (alike(before.plan, after.plan, before.software)) continue;
        if (axis.of(after.plan) == plainest(axis.domain)) continue;  // what is off needs no word
        const bool warned = std::ranges::any_of(after.warnings, [&](const std::string& warning) {
          return std::ranges::count(before.warnings, warning) == 0;
        });
        CHECK((warned || after.numbers != before.numbers));
      }
    });
  }
}

}  // namespace
}  // namespace prequel
