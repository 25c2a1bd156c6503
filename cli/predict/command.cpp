#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "cli/options.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/predict/trace.hpp"
#include "cli/predict/training_run_format.hpp"
#include "cli/report.hpp"
#include "cli/table.hpp"
#include "cli/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

FlopsConvention convention_named(const std::string& text) {
  const auto convention = flops_convention(text);
  if (convention) return *convention;
  throw InputError(
      "--flops " + printable(text) + ": unknown convention" +
      did_you_mean(text, {kFlopsConventionNames.begin(), kFlopsConventionNames.end()}) +
      "; prequel, megatron-hw, bs-noemb, mosaic-2023 and mosaic-2023-star are known");
}

void write_trace(const PredictOptions& options, const Scenario& scenario,
                 const std::optional<Timeline>& played) {
  if (!played) {
    throw InputError(
        fmt::format("--trace: {} passes over stages are too many to draw; gbs {} would do",
                    timeline_passes(scenario), most_timeline_gbs(scenario)));
  }
  const auto detail = options.detail == "kernel" ? TraceDetail::kernel : TraceDetail::layer;
  write_trace_file(options.trace, scenario, *played, detail,
                   trace_ranks(scenario.plan, played->stages.size(), options.ranks));
}

void print_warnings(const std::vector<std::string>& warnings, const Terminal& terminal) {
  for (const std::string& warning : warnings) {
    const std::string label = inked(terminal, Ink::yellow, "warning:");
    fmt::print(stderr, "{}\n", wrapped(label + " " + warning, terminal.at_most(100), "  "));
  }
}

/// What the options ask for beside the prediction.
PredictionDetails details_of(const PredictOptions& options, const Library& library,
                             const JobRequest& request, const Job& job, const Scenario& scenario,
                             const Prediction& prediction) {
  PredictionDetails details;
  if (timeline_passes(scenario) <= kMostTimelinePasses) details.timeline = timeline(scenario);
  if (job.what_if.any()) details.distribution = what_if(scenario, job.what_if);
  if (options.contention) details.contended = contended_iteration(scenario, job.what_if);
  details.whole = whole_run(job, scenario, prediction, options.run, details.distribution);
  if (options.verbose || !options.explain.empty()) {
    details.kernels = explain_kernels(scenario, prediction.stages[prediction.slowest_stage].blocks);
    if (!options.explain.empty()) {
      details.kernels = named_kernels(details.kernels, options.explain);
    }
    details.origin = origins(library, request, job);
  }
  return details;
}

void print_text(const PredictOptions& options, const Job& job, const Scenario& scenario,
                const Prediction& prediction, const PredictionDetails& details,
                const Terminal& out) {
  fmt::print("{}", prediction_text(scenario, prediction, job.measured, out));
  if (details.timeline) fmt::print("\n{}", timeline_text(*details.timeline, out));
  if (details.distribution) fmt::print("\n{}", what_if_text(*details.distribution, job.what_if));
  if (details.contended) fmt::print("\n{}", contention_text(*details.contended));
  fmt::print("{}", whole_run_text(scenario.plan, details.whole, options.run, job.what_if.any()));
  const double step = prediction.sec_per_iter.value;
  if (options.verbose) fmt::print("\n{}", kernel_table(details.kernels, step, out));
  if (!options.explain.empty()) {
    fmt::print("\n{}", kernel_explanations(details.kernels, step, details.origin, out));
  }
}

}  // namespace

int run_predict(const CommonOptions& common, const PredictOptions& options) {
  const FlopsConvention convention = convention_named(options.flops_convention);
  const Library library(common.data_directories);
  JobRequest request = translated(options.request, library, common.quiet);
  if (options.run.ramp) {  // its end, unless --gbs says otherwise
    const std::string last = fmt::format("{}", options.run.ramp->last);
    request.overrides.insert(request.overrides.begin(), {"plan.gbs", last, "--gbs-ramp"});
  }
  const Job job = read_job(library, request);
  ResolvedPlan resolved = resolve_plan(job.plan, job.model, job.cluster, job.software);
  const Scenario scenario{job.model, job.device, job.cluster, job.software, resolved.plan};
  Prediction prediction = predict(scenario, convention);
  const PredictionDetails details =
      details_of(options, library, request, job, scenario, prediction);
  if (!options.trace.empty()) write_trace(options, scenario, details.timeline);
  prediction.warnings.insert(prediction.warnings.begin(), resolved.warnings.begin(),
                             resolved.warnings.end());
  if (!common.quiet) print_warnings(prediction.warnings, terminal(stderr, common.color));
  if (!options.emit.empty()) {
    print_emitted(options.emit, scenario, common.quiet);
  } else if (options.format == OutputFormat::json) {
    fmt::print("{}", prediction_json(scenario, prediction, job.measured, details));
  } else {
    print_text(options, job, scenario, prediction, details, terminal(stdout, common.color));
  }
  if (!options.report.empty()) {
    write_file(options.report, prediction_report(scenario, prediction, job.measured));
  }
  return prediction.verdict == MemoryVerdict::oom ? kExitNo : kExitDone;
}

}  // namespace prequel
