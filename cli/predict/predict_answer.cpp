#include "cli/predict/predict_answer.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/translate/idle_settings.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "sim/answer/known_spread.hpp"

namespace prequel {
namespace {

FlopsConvention convention_named(const std::string& text) {
  const auto convention = flops_convention(text);
  if (convention) return *convention;
  throw InputError(
      "--flops " + printable(text) + ": unknown convention" +
      did_you_mean(text, {kFlopsConventionNames.begin(), kFlopsConventionNames.end()}) +
      "; prequel, megatron-hw, bs-noemb, mosaic-2023, mosaic-2023-star and causal are known");
}

/// What the options ask for beside the prediction.
PredictionDetails details_of(const PredictOptions& options, const Library& library,
                             const JobRequest& request, const Job& job, const Scenario& scenario,
                             const Prediction& prediction, const Progress& progress) {
  PredictionDetails details;
  const Uncertainty uncertainty = shipped_uncertainty(library);
  details.interval = interval(scenario, prediction, uncertainty);
  if (timeline_passes(scenario) <= kMostTimelinePasses) {
    details.shares = stage_shares(scenario, prediction);
  }
  if (job.what_if.any()) details.distribution = what_if(scenario, job.what_if, progress);
  if (options.contention) details.contended = contended_iteration(scenario, job.what_if);
  details.whole = whole_run(job, scenario, prediction, options.run, details.distribution);
  if (options.verbose || !options.explain.empty()) {
    details.kernels = explain_kernels(scenario, prediction.stages[prediction.slowest_stage].parts);
    if (!options.explain.empty()) {
      details.kernels = named_kernels(details.kernels, options.explain);
    }
    details.origin = origins(library, request, job);
  }
  return details;
}

PredictAnswer answer_of(const PredictOptions& options, const Library& library,
                        const JobRequest& request, const Progress& progress) {
  PredictAnswer answer;
  answer.job = read_job(library, request);
  const Job& job = answer.job;
  ResolvedScenario resolved = resolve(job);
  answer.scenario = std::move(resolved.scenario);
  answer.prediction = predict(answer.scenario, convention_named(options.flops_convention));
  answer.details =
      details_of(options, library, request, job, answer.scenario, answer.prediction, progress);
  state_error(*answer.details.interval, answer.prediction);
  std::vector<std::string>& warnings = answer.prediction.warnings;
  warnings.insert(warnings.begin(), resolved.warnings.begin(), resolved.warnings.end());
  for (const std::string& path : unheard_spreads(answer.scenario)) {
    warnings.push_back(path + ": its sd is not used, since no interval is made of it");
  }
  return answer;
}

}  // namespace

PredictAnswer answer_predict(const Library& library, const PredictOptions& options,
                             const Tell& tell, const Progress& progress) {
  (void)convention_named(options.flops_convention);  // refused before anything is read
  JobRequest request = translated(options.request, options.script, library, tell);
  if (options.run.ramp) {  // its end, unless --gbs says otherwise
    const std::string last = fmt::format("{}", options.run.ramp->last);
    request.overrides.insert(request.overrides.begin(), {"plan.gbs", last, "--gbs-ramp"});
  }
  PredictAnswer answer = answer_of(options, library, request, progress);
  const auto told = [&](JobRequest other) {
    // What a setting moves, it moves in one draw, too.
    if (answer.job.what_if.any()) other.overrides.push_back({"what_if.samples", "1"});
    const PredictAnswer of = answer_of(options, library, other, {});
    return prediction_json(of.scenario, of.prediction, std::nullopt, of.details);
  };
  for (std::string& idle : idle_settings(request, {told})) {
    answer.prediction.warnings.push_back(std::move(idle));
  }
  return answer;
}

std::string prediction_json(const PredictAnswer& answer) {
  return prediction_json(answer.scenario, answer.prediction, answer.job.measured, answer.details);
}

}  // namespace prequel
