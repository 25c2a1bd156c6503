#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/predict/reservation_format.hpp"
#include "models/layers/parameters.hpp"
#include "sim/answer/exposure.hpp"

namespace prequel {
namespace {

Json memory_json(const Scenario& scenario, const Prediction& prediction) {
  const MemoryStack& stack = scenario.software.memory;
  Json stages = Json::array();
  for (const StagePrediction& stage : prediction.stages) {
    const StageMemory& memory = stage.memory;
    Json one{{"stage", stages.size()}, {"layers", stage.blocks}};
    for (const MemoryPart& part : kMemoryParts) {
      one[std::string(part.key) + "_gib"] = gib(memory.*part.bytes);
    }
    one.update({{"micro_batches_in_flight", stage.in_flight.most},
                {"allocated_gib", gib(memory.allocated())},
                {"reserved_gib", gib(memory.reserved())},
                {"peak_gib", gib(memory.total())},
                {"forward_s", stage.forward_s},
                {"backward_s", stage.backward_s},
                {"recompute_s", stage.recompute_s},
                {"busy_s", stage.busy_s},
                {"breakdown_s", breakdown_json(stage.time)}});
    stages.push_back(std::move(one));
  }
  return {{"peak_gib", gib(prediction.peak_memory)},
          {"allocated_gib", gib(logged_memory(prediction, stack, MemoryKind::allocated))},
          {"reserved_gib", gib(logged_memory(prediction, stack, MemoryKind::reserved))},
          {"logged_stage", logged_stage(prediction, stack)},
          {"smi_gib", gib(memory_of(prediction, MemoryKind::smi))},
          {"capacity_gib", gib(scenario.device.memory)},
          {"fits", prediction.fits},
          {"verdict", name(prediction.verdict)},
          {"stages", stages}};
}

Json shares_json(const StageShares& shares) {
  Json stages = Json::array();
  for (std::size_t i = 0; i < shares.stages.size(); ++i) {
    const StageShare& stage = shares.stages[i];
    stages.push_back({{"stage", i},
                      {"utilisation", stage.computing_s / shares.seconds},
                      {"bubble_share", stage.bubble_s / shares.seconds},
                      {"exposed_communication_s", stage.communicating_s},
                      {"host_s", stage.host_s},
                      {"critical_path_s", stage.critical_s}});
  }
  return stages;
}

}  // namespace

std::string prediction_json(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured,
                            const PredictionDetails& details) {
  const Plan& plan = scenario.plan;
  const double step = prediction.sec_per_iter.value;
  const double samples = static_cast<double>(plan.gbs) / step;
  Json exposed_because = Json::object();
  for (const Exposure& exposure : exposures(scenario, prediction)) {
    exposed_because[std::string(exposure.part)] = exposure.why;
  }
  Json json{
      {"schema", "prequel/prediction/1"},
      {"sec_per_iter", step},
      {"samples_per_sec", samples},
      {"tokens_per_sec", samples * tokens_of_sample(plan)},
      {"tokens_per_sec_per_gpu", samples * tokens_of_sample(plan) / static_cast<double>(plan.gpus)},
      {"parameters",
       {{"total", total_parameters(scenario.model)},
        {"learning", learning_parameters(scenario.model, learning_of(scenario.plan))},
        {"active", active_parameters(scenario.model)}}},
      {"error", {{"sec_per_iter", prediction.relative_error}, {"basis", prediction.error_basis}}}};
  json.update(rates_json(prediction, plan));
  json.update({{"peak_tflops", prediction.peak.value / kTera},
               {"flops_convention", name(prediction.convention)},
               {"memory", memory_json(scenario, prediction)},
               {"slowest_stage", prediction.slowest_stage},
               {"breakdown_s", breakdown_json(prediction.breakdown)},
               {"hidden_s", hidden_json(prediction.hidden)},
               {"exposed_because", exposed_because},
               {"model", scenario.model.name},
               {"device", scenario.device.name},
               {"cluster", scenario.cluster.name},
               {"software", scenario.software.name},
               {"plan", plan_json(plan)}});
  if (const auto& uneven = prediction.uneven) {
    json["step_sd"] = uneven->sd;
    json["tokens"] = {{"computed", uneven->tokens.computed},
                      {"real", uneven->tokens.real},
                      {"loss", uneven->tokens.loss}};
  }
  if (details.interval) json["interval"] = interval_json(*details.interval);
  if (const auto& sure = details.sure) {
    json["memory"]["nearest"] = {{"flags", sure->flags},
                                 {"sec_per_iter", sure->sec_per_iter.value},
                                 {"peak_gib", gib(sure->peak_memory)},
                                 {"fits_probability", sure->fits_probability}};
  }
  if (measured) {
    Json was = Json::object();
    if (measured->sec_per_iter) was["sec_per_iter"] = measured->sec_per_iter->value;
    set_json(was, "tflops_per_gpu", measured->tflops_per_gpu);
    set_json(was, "mem_gib", measured->memory_gib);
    if (!measured->source.empty()) was["source"] = measured->source;
    json["measured"] = was;
  }
  if (!details.causes.empty()) json["causes"] = causes_json(details.causes);
  if (const auto& distribution = details.distribution) {
    json["what_if_sec_per_iter"] = {{"mean", distribution->mean},
                                    {"p5", distribution->p5},
                                    {"p50", distribution->p50},
                                    {"p95", distribution->p95}};
  }
  if (const auto& contended = details.contended) {
    json["contention"] = {{"sec_per_iter", contended->seconds},
                          {"links_s", contended->links},
                          {"overlap_s", contended->overlap},
                          {"launches_s", contended->launches}};
  }
  json.update(whole_run_json(details.whole));
  if (details.reservation) {
    json["reservation"] = reservation_json(plan, *details.reservation, details.run);
    if (!details.over_nodes.empty()) {
      json["reservation"]["over_nodes"] = over_nodes_json(details.over_nodes);
    }
  }
  if (details.shares) json["stages"] = shares_json(*details.shares);
  if (!details.kernels.empty()) json["kernels"] = kernels_json(details.kernels, details.origin);
  json["warnings"] = prediction.warnings;
  if (details.context) json["context"] = context_json(*details.context);
  return document_text(json);
}

}  // namespace prequel
