#include "cli/json/answer_json.hpp"

#include "cli/api/prequel.hpp"
#include "cli/json/axis_json.hpp"
#include "cli/json/json.hpp"
#include "hw/base/text.hpp"

namespace prequel {

Json plan_json(const Plan& plan) {
  Json json;
  each_axis([&](const auto& axis) {
    json[axis.name] = axis_json(axis.of(plan));
    if (axis.name == "nodes") json["gpus"] = plan.gpus;
  });
  return json;
}

Json shape_json(const ModelShape& shape) {
  return {{"layers", shape.layers}, {"hidden", shape.hidden}, {"heads", shape.heads}};
}

Json breakdown_json(const Breakdown& parts) {
  Json json;
  for (const TimePart& part : kTimeParts) json[part.key] = parts.*part.seconds;
  return json;
}

Json hidden_json(const HiddenTime& hidden) {
  Json json;
  for (const TimePart& part : kTimeParts) {
    if (part.is_communication) json[part.key] = hidden.*part.seconds;
  }
  return json;
}

Json rates_json(const Prediction& prediction, const Plan& plan) {
  return {{"tflops_per_gpu",
           {{"model", prediction.model_flops_rate(plan) / kTera},
            {"hardware", prediction.hardware_flops_rate(plan) / kTera}}},
          {"mfu", prediction.mfu(plan)},
          {"hfu", prediction.hfu(plan)}};
}

Json sources_json(const std::vector<SpreadSource>& sources) {
  return list_json(sources, [](const SpreadSource& source) {
    return Json{{"name", source.name}, {"share", source.share}};
  });
}

Json interval_json(const Interval& interval) {
  return {{"level", interval.level},
          {"sec_per_iter", {interval.time_low.value, interval.time_high.value}},
          {"memory_gib", {gib(interval.memory_low), gib(interval.memory_high)}},
          {"fits_probability", interval.fits_probability},
          {"sources", sources_json(interval.sources)},
          {"basis", interval.basis}};
}

Json causes_json(const std::vector<GapCause>& causes) {
  return list_json(causes, [](const GapCause& one) {
    Json cause{{"cause", one.what}, {"probability", one.probability}};
    if (!one.path.empty()) cause["path"] = one.path;
    cause.update({{"times", one.value}, {"low", one.low}, {"high", one.high}});
    return cause;
  });
}

Json errors_json(const ErrorStatistics& errors) {
  return {{"n", errors.n},     {"mape", errors.mape}, {"median", errors.median},
          {"p90", errors.p90}, {"max", errors.max},   {"bias", errors.bias}};
}

Json levels_json(const Coverage& coverage) {
  Json levels = Json::array();
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    levels.push_back({{"level", kCoverageLevels[i]}, {"covered", coverage.inside[i]}});
  }
  return levels;
}

Json covered_json(const Coverage& coverage) {
  return {{"n", coverage.n}, {"levels", levels_json(coverage)}};
}

namespace {

constexpr std::size_t kLongest = 1u << 20;  // of names and calls

}  // namespace

Json context_json(const Context& context) {
  const auto input_json = [](const InputFile& input) {
    return Json{
        {"kind", input.kind}, {"name", printable(input.name, kLongest)}, {"sha256", input.sha256}};
  };
  return {{"version", version_number()},
          {"command", printable(context.command, kLongest)},
          {"inputs", list_json(context.inputs, input_json)}};
}

}  // namespace prequel
