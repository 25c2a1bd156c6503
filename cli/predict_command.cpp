#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "cli/options.hpp"
#include "cli/prediction_format.hpp"
#include "cli/report.hpp"
#include "cli/table.hpp"
#include "cli/trace.hpp"
#include "cli/training_run_format.hpp"
#include "cli/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
int run_predict(const CommonOptions& common, const PredictOptions& options) {
  const auto convention = flops_convention(options.flops_convention);
  if (!convention) {
    throw InputError("--flops " + printable(options.flops_convention) + ": unknown convention" +
                     did_you_mean(options.flops_convention,
                                  {kFlopsConventionNames.begin(), kFlopsConventionNames.end()}) +
                     "; prequel, megatron-hw, bs-noemb, mosaic-2023 and mosaic-2023-star are "
                     "known");
  }
  const Library library(common.data_directories);
  JobRequest request = translated(options.request, common.quiet);
  if (options.run.ramp) {  // its end, unless --gbs says otherwise
    const std::string last = fmt::format("{}", options.run.ramp->last);
    request.overrides.insert(request.overrides.begin(), {"plan.gbs", last, "--gbs-ramp"});
  }
  const Job job = read_job(library, request);
  ResolvedPlan resolved = resolve_plan(job.plan, job.model, job.cluster, job.software);
  const Scenario scenario{job.model, job.device, job.cluster, job.software, resolved.plan};
  Prediction prediction = predict(scenario, *convention);
  std::optional<Timeline> played;
  if (timeline_passes(scenario) <= kMostTimelinePasses) played = timeline(scenario);
  if (!options.trace.empty()) {
    if (!played) {
      throw InputError(
          fmt::format("--trace: {} passes over stages are too many to draw; gbs {} would do",
                      timeline_passes(scenario), most_timeline_gbs(scenario)));
    }
    const auto detail = options.detail == "kernel" ? TraceDetail::kernel : TraceDetail::layer;
    write_trace_file(options.trace, scenario, *played, detail,
                     trace_ranks(scenario.plan, played->stages.size(), options.ranks));
  }
  std::optional<StepDistribution> distribution;
  if (job.what_if.any()) distribution = what_if(scenario, job.what_if);
  std::optional<ContendedIteration> contended;
  if (options.contention) contended = contended_iteration(scenario, job.what_if);
  const WholeRun whole = whole_run(job, scenario, prediction, options.run);
  prediction.warnings.insert(prediction.warnings.begin(), resolved.warnings.begin(),
                             resolved.warnings.end());
  if (!common.quiet) {
    const Terminal err = terminal(stderr, common.color);
    for (const std::string& warning : prediction.warnings) {
      const std::string label = inked(err, Ink::yellow, "warning:");
      fmt::print(stderr, "{}\n", wrapped(label + " " + warning, err.at_most(100), "  "));
    }
  }
  if (!options.emit.empty()) {
    print_emitted(options.emit, scenario, common.quiet);
  } else if (options.format == OutputFormat::json) {
    fmt::print("{}", prediction_json(scenario, prediction, job.measured, distribution, whole,
                                     played, contended));
  } else {
    fmt::print("{}",
               prediction_text(scenario, prediction, job.measured, terminal(stdout, common.color)));
    if (played) fmt::print("\n{}", timeline_text(*played, terminal(stdout, common.color)));
    if (distribution) fmt::print("\n{}", what_if_text(*distribution, job.what_if));
    if (contended) fmt::print("\n{}", contention_text(*contended));
    fmt::print("{}", whole_run_text(scenario.plan, whole, options.run));
  }
  if (!options.report.empty()) {
    write_file(options.report, prediction_report(scenario, prediction, job.measured));
  }
  return prediction.verdict == MemoryVerdict::oom ? kExitNo : kExitDone;
}

}  // namespace prequel
