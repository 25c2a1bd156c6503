#include "cli/json/plan_json.hpp"

#include "cli/json/axis_json.hpp"
#include "cli/json/json.hpp"

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

}  // namespace prequel
