#include <doctest/doctest.h>

#include "models/layers/parameters.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

Scenario trained(const char* model, std::int64_t dp, std::int64_t zero, Optimizer optimizer) {
  JobRequest request;
  request.model = model;
  request.cluster = "dgx-h100";
  request.software = "megatron-core-2026";
  const Job job = read_job(shipped_library(), request);
  PlanRequest plan = job.plan;
  plan.dp = dp;
  plan.gbs = 16 * dp;
  plan.seq_len = 4096;
  plan.zero = zero;
  plan.optimizer = optimizer;
  return resolve(job, plan).scenario;
}

/// Parameters of layers, without embedding and head.
double in_layers(const Transformer& model) {
  return static_cast<double>(model.layers * layer_parameters(model));
}

TEST_CASE("Muon keeps one moment of matrices and two of tables") {
  for (const std::int64_t zero : {0, 1}) {
    CAPTURE(zero);
    const Scenario adam = trained("llama-3-8b", 8, zero, Optimizer::adam);
    const Scenario muon = trained("llama-3-8b", 8, zero, Optimizer::muon);
    const auto states = [](const Scenario& scenario) {
      return predict(scenario).stages.front().memory.optimizer.value;
    };
    const double share = zero == 0 ? 1.0 : 1.0 / 8;
    CHECK(states(adam) - states(muon) ==
          doctest::Approx(4 * share * in_layers(adam.model)).epsilon(1e-6));
  }
}

TEST_CASE("Muon takes five Newton-Schulz steps of every matrix, which ranks share") {
  const Scenario alone = trained("llama-3-8b", 1, 0, Optimizer::muon);
  const auto update = [](const Scenario& scenario) {
    return predict(scenario).breakdown.optimizer;
  };
  const auto flops = [](double n, double m) { return 5 * (4 * n * n * m + 2 * n * n * n); };
  const Transformer& model = alone.model;
  const auto h = static_cast<double>(model.hidden);
  const auto qkv = static_cast<double>(model.qkv_width());
  const auto f = static_cast<double>(model.ffn_hidden);
  const double all = static_cast<double>(model.layers) *
                     (flops(h, qkv) + flops(h, h) + flops(h, 2 * f) + flops(h, f));
  const double fastest = all / alone.device.peak(Precision::bf16).value;
  const double more = update(alone) - update(trained("llama-3-8b", 1, 0, Optimizer::adam));
  CHECK(more > fastest);
  CHECK(more < 3 * fastest);
  // Whole on every rank, or shared by eight that then gather it.
  CHECK(update(trained("llama-3-8b", 8, 0, Optimizer::muon)) ==
        doctest::Approx(update(alone)).epsilon(1e-9));
  const double shared = update(trained("llama-3-8b", 8, 1, Optimizer::muon));
  CHECK(shared > update(alone) / 8);
  CHECK(shared < update(alone) / 4);
}

TEST_CASE("experts are matrices of their own to Muon") {
  const Scenario muon = trained("qwen3-30b-a3b", 8, 1, Optimizer::muon);
  const Scenario adam = trained("qwen3-30b-a3b", 8, 1, Optimizer::adam);
  const Transformer& model = muon.model;
  const auto h = static_cast<double>(model.hidden);
  const auto f = static_cast<double>(model.experts.ffn_hidden);
  const auto flops = [](double n, double m) { return 5 * (4 * n * n * m + 2 * n * n * n); };
  const double experts = static_cast<double>(model.layers * model.experts.count) *
                         (flops(std::min(h, 2 * f), std::max(h, 2 * f)) + flops(f, h));
  CHECK(predict(muon).breakdown.optimizer - predict(adam).breakdown.optimizer >
        experts / 8 / muon.device.peak(Precision::bf16).value);
}

}  // namespace
}  // namespace prequel
