#include "cli/predict/predict_answer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/flags/call_text.hpp"
#include "cli/flags/flags.hpp"
#include "cli/translate/idle_settings.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/job/job_site.hpp"
#include "models/job/usual_software.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/search/nearest_plan.hpp"

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

/// Refuses what only a whole run, checkpoints or a reservation answer.
void check_run(const RunQuestion& question) {
  if (question.price > 0 && !question.tokens && !question.epochs) {
    throw InputError("--price: needs --tokens or --epochs");
  }
  if (question.reservation.is_asked()) return;
  const auto needs = [](bool said, const char* flag, bool given, const char* other) {
    if (said && !given) throw InputError(fmt::format("{}: needs {} or --reservation", flag, other));
  };
  const bool writes = question.checkpoint_bandwidth.has_value();
  needs(question.mtbf.has_value(), "--mtbf", writes, "--checkpoint-bandwidth");
  needs(question.checkpoint_interval.has_value(), "--checkpoint-interval", writes,
        "--checkpoint-bandwidth");
  needs(question.restart.value > 0, "--restart", question.mtbf.has_value(), "--mtbf");
}

constexpr std::int64_t kTold = 20;  // replications that tell whether a setting moves anything

/// The reservation on other numbers of nodes: replicas follow from them, the batch stays.
std::vector<NodesPoint> over_nodes(const Library& library, const JobRequest& request,
                                   const RunQuestion& question) {
  const Uncertainty uncertainty = shipped_uncertainty(library);
  std::vector<NodesPoint> points;
  for (const std::int64_t nodes : question.reservation.over_nodes) {
    NodesPoint& point = points.emplace_back();
    point.nodes = nodes;
    JobRequest other = request;
    other.overrides.push_back({"plan.nodes", fmt::format("{}", nodes), "--over-nodes"});
    other.overrides.push_back({"plan.dp", "null", "--over-nodes"});
    try {
      const Job job = read_job(library, other);
      const Scenario scenario = resolve(job).scenario;
      const Prediction prediction = predict(scenario);
      const double scale = interval(scenario, prediction, uncertainty).time_scale;
      const WholeRun whole = whole_run(job, scenario, prediction, question);
      point.gpus = scenario.plan.gpus;
      point.sec_per_iter = prediction.sec_per_iter.value;
      point.tokens_per_sec = tokens_of_step(scenario.plan) / prediction.sec_per_iter.value;
      point.reservation =
          reserve(scenario, prediction, *whole.run, scale,
                  site_of(library, scenario.cluster, question.reservation.maturity), question);
    } catch (const InputError& error) {
      point.refused = error.what();
    }
  }
  return points;
}

/// With a reservation, --seed is of its draws; of a jitter only where one is asked for, too.
void share_seed(JobRequest& request, RunQuestion& question) {
  if (!question.reservation.is_asked()) return;
  const auto is = [](const char* path) {
    return [path](const Override& one) { return one.path == path; };
  };
  const auto seed = std::ranges::find_if(request.overrides, is("what_if.seed"));
  if (seed == request.overrides.end()) return;
  const auto number = parse_integer(seed->value);
  if (!number || *number < 0) {
    throw InputError("--seed " + printable(seed->value) + ": expected a whole number from 0 on");
  }
  question.reservation.seed = static_cast<std::uint64_t>(*number);
  const bool jitters = std::ranges::any_of(request.overrides, is("what_if.jitter"));
  if (!jitters) request.overrides.erase(seed);
}

/// Returns the details that the options ask for beside the prediction.
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
  details.run = options.run;
  if (options.run.reservation.is_asked()) {
    details.reservation =
        reserve(scenario, prediction, *details.whole.run, details.interval->time_scale,
                site_of(library, scenario.cluster, options.run.reservation.maturity), options.run);
  }
  if (options.verbose || !options.explain.empty()) {
    details.kernels = explain_kernels(layer_question(scenario.plan, scenario.cluster), scenario,
                                      prediction.stages[prediction.slowest_stage].parts,
                                      scenario.plan.micro_batches());
    if (!options.explain.empty()) {
      details.kernels = named_kernels(details.kernels, options.explain);
    }
    details.origin = origins(library, request, job);
  }
  return details;
}

/// `compares` where the answer is held against one without a setting: that something was set is
/// then no effect of it.
PredictAnswer answer_of(const PredictOptions& options, const Library& library,
                        const JobRequest& request, const Progress& progress,
                        bool compares = false) {
  PredictAnswer answer;
  answer.job = read_job(library, request);
  if (compares) answer.job.edited.clear();
  const Job& job = answer.job;
  ResolvedScenario resolved = resolve(job);
  answer.scenario = std::move(resolved.scenario);
  answer.prediction = predict(answer.scenario, convention_named(options.flops_convention));
  PredictOptions its = options;
  if (!its.run.sequences) its.run.sequences = job.sequences;
  its.run = in_tokens(std::move(its.run), answer.scenario.plan, answer.prediction);
  answer.details =
      details_of(its, library, request, job, answer.scenario, answer.prediction, progress);
  state_error(*answer.details.interval, answer.prediction);
  state_verdict(*answer.details.interval, answer.prediction);
  std::vector<std::string>& warnings = answer.prediction.warnings;
  warnings.insert(warnings.begin(), resolved.warnings.begin(), resolved.warnings.end());
  const std::string& of_cluster = usual_software(job.cluster, job.model.has_experts());
  if (!request.software && !request.job && job.software.name != of_cluster) {
    warnings.push_back(
        fmt::format("no --software: adapters are priced as {} trains them, by which most are, not "
                    "by {}, which {} usually runs",
                    job.software.name, of_cluster, job.cluster.name));
  }
  for (const std::string& path : unheard_spreads(answer.scenario)) {
    warnings.push_back(path + ": its sd is not used, since no interval is made of it");
  }
  return answer;
}

/// Returns the flags that turn one plan into another: "--mbs 1 --recompute full".
std::string flags_between(const Plan& from, const Plan& to) {
  std::string flags;
  each_axis([&](const auto& axis) {
    std::string value = cell_of(axis.of(to));
    if (value == cell_of(axis.of(from))) return;
    if (axis.name == "dp" && from.nodes == to.nodes) return;  // follows
    std::string flag = flag_of(axis.name);
    if constexpr (std::is_same_v<std::decay_t<decltype(axis.of(to))>, bool>) {
      flag = axis.of(to) ? flag : "--no-" + flag.substr(2);
    } else {
      std::ranges::replace(value, ' ', ',');  // lists
      flag += " " + shell_quoted(value);
    }
    flags += (flags.empty() ? "" : " ") + flag;
  });
  return flags;
}

}  // namespace

std::optional<SurePlan> sure_plan(const Library& library, const PredictAnswer& answer) {
  constexpr double kSure = 0.95;
  if (answer.fits_surely()) return std::nullopt;
  const Uncertainty uncertainty = shipped_uncertainty(library);
  SurePlan sure;
  const auto nearest = nearest_fitting(answer.scenario, [&](const FoundPlan& found) {
    Scenario other = answer.scenario;
    other.plan = found.plan;
    sure.fits_probability = interval(other, predict(other), uncertainty).fits_probability;
    return sure.fits_probability >= kSure && found.verdict == MemoryVerdict::fits;
  });
  if (!nearest) return std::nullopt;
  sure.flags = flags_between(answer.scenario.plan, nearest->plan);
  sure.sec_per_iter = {nearest->sec_per_iter};
  sure.peak_memory = nearest->peak_memory;
  return sure;
}

PredictAnswer answer_predict(const Library& library, const PredictOptions& asked, const Tell& tell,
                             const Progress& progress) {
  PredictOptions options = asked;
  (void)convention_named(options.flops_convention);  // refused before anything is read
  check_run(options.run);
  JobRequest request = translated(options.request, options.script, library, tell);
  share_seed(request, options.run);
  if (options.run.ramp) {  // its end, unless --gbs says otherwise
    const std::string last = fmt::format("{}", options.run.ramp->last);
    request.overrides.insert(request.overrides.begin(), {"plan.gbs", last, "--gbs-ramp"});
  }
  PredictAnswer answer = answer_of(options, library, request, progress);
  answer.details.over_nodes = over_nodes(library, request, options.run);
  const auto told = [&](JobRequest other) {
    // The effect of a setting shows in one draw, too.
    if (answer.job.what_if.any()) other.overrides.push_back({"what_if.samples", "1"});
    PredictOptions once = options;             // what a setting moves, few replications tell
    if (options.run.reservation.is_asked()) {  // another number of them asks for one
      once.run.reservation.replications =
          std::min<std::int64_t>(kTold, options.run.reservation.replications);
    }
    const PredictAnswer of = answer_of(once, library, other, {}, true);
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
