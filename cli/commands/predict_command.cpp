#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include "calibrate/runs/gap.hpp"
#include "cli/call/call_commands.hpp"
#include "cli/commands/progress_line.hpp"
#include "cli/emit/emitted_plan.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/predict/memory_snapshot.hpp"
#include "cli/predict/predict_answer.hpp"
#include "cli/predict/reservation_format.hpp"
#include "cli/predict/trace.hpp"
#include "cli/report/report.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

/// The trace and the snapshot of memory, those of them that are asked for.
void write_timeline_files(const PredictOptions& options, const PredictAnswer& answer) {
  const bool with_trace = !options.trace.empty(), with_memory = !options.memory_snapshot.empty();
  if (!with_trace && !with_memory) {
    if (options.ranks == "stages") return;
    throw InputError("--ranks: needs --trace or --memory-snapshot, which show them");
  }
  const auto& [job, scenario, prediction, details] = answer;
  if (timeline_passes(scenario) > kMostTimelinePasses) {
    throw InputError(fmt::format("{}: {} passes over stages are too many to draw; gbs {} would do",
                                 with_trace ? "--trace" : "--memory-snapshot",
                                 timeline_passes(scenario), most_timeline_gbs(scenario)));
  }
  const Timeline played = timeline(scenario);
  const auto ranks = trace_ranks(scenario.plan, played.memory.size(), options.ranks);
  if (with_memory) {
    write_file(options.memory_snapshot, memory_snapshot(scenario, prediction, played, ranks));
  }
  if (with_trace) {
    const auto detail = options.detail == "kernel" ? TraceDetail::kernel : TraceDetail::layer;
    write_trace_file(options.trace, scenario, played, detail, ranks);
  }
}

void print_warnings(const std::vector<std::string>& warnings, const Terminal& terminal) {
  for (const std::string& warning : warnings) {
    const std::string label = inked(terminal, Ink::yellow, "warning:");
    fmt::print(stderr, "{}\n", wrapped(label + " " + warning, terminal.at_most(100), "  "));
  }
}

void print_text(const PredictOptions& options, const PredictAnswer& answer, const Terminal& out) {
  const auto& [job, scenario, prediction, details] = answer;
  fmt::print("{}", prediction_text(scenario, prediction, job.measured, out));
  if (details.interval) fmt::print("\n{}", interval_text(*details.interval, out));
  if (details.shares) fmt::print("\n{}", shares_text(*details.shares, out));
  if (details.distribution) fmt::print("\n{}", what_if_text(*details.distribution, job.what_if));
  if (details.contended) fmt::print("\n{}", contention_text(*details.contended));
  fmt::print("{}", whole_run_text(scenario.plan, details.whole, options.run, job.what_if.any()));
  if (details.reservation) {
    fmt::print("\n{}", reservation_text(scenario.plan, *details.reservation, options.run, out));
    if (!details.over_nodes.empty()) {
      fmt::print("\n{}", over_nodes_text(details.over_nodes, options.run));
    }
  }
  const double step = prediction.sec_per_iter.value;
  if (options.verbose) fmt::print("\n{}", kernel_table(details.kernels, step, out));
  if (!options.explain.empty()) {
    fmt::print("\n{}", kernel_explanations(details.kernels, step, details.origin, out));
  }
}

/// Says what to ask in place of a plan that may be out of memory.
void print_nearest(const PredictAnswer& answer, const Terminal& out) {
  if (answer.fits_surely()) return;
  const char* verdict = answer.is_no() ? "Out of memory" : "Tight";
  const auto& sure = answer.details.sure;
  const std::string told =
      sure ? fmt::format(
                 "{}. The nearest plan that fits: {}; {:.2f} s per iteration, {} of {} GiB, with a "
                 "probability of {:.0f} %. prequel search finds the fastest.",
                 verdict, sure->flags, sure->sec_per_iter.value, gib_text(sure->peak_memory),
                 gib_text(answer.scenario.device.memory), 100 * sure->fits_probability)
           : fmt::format("{}, as all plans near it; prequel search tells what to relax.", verdict);
  fmt::print("\n{}\n", wrapped(told, out.at_most(100), "  "));
}

/// Which single cause could explain that the job's own run took another time.
void print_gap(const std::vector<GapCause>& causes, const Terminal& out) {
  if (causes.empty()) return;
  const std::string told = "The measured time could be explained by: " + text(causes);
  fmt::print("\n{}\n", wrapped(told, out.at_most(100), "  "));
}

}  // namespace

void print_emitted(std::string_view target, const Scenario& scenario, const Library& library,
                   bool quiet) {
  const EmittedPlan emitted = emit_plan(target, scenario, library);
  fmt::print("{}", emitted.text);
  if (quiet) return;
  for (const LeftOut& one : emitted.left_out) {
    fmt::print(stderr, "left out: {}: {}\n", one.field, one.why);
  }
}

int run_predict(const CommonOptions& common, const PredictOptions& options) {
  const Library library(common.data_directories);
  PredictAnswer answer = [&] {
    ProgressLine progress(common.quiet);
    return answer_predict(library, options, tell_stderr(common.quiet), progress.of("samples"));
  }();
  answer.details.causes = program_causes(library, answer);
  answer.details.sure = sure_plan(library, answer);
  answer.details.context = {common.call, library.inputs()};
  const auto& [job, scenario, prediction, details] = answer;
  write_timeline_files(options, answer);
  if (!options.report.empty()) write_file(options.report, prediction_report(answer));
  if (!common.quiet) print_warnings(prediction.warnings, terminal(stderr, common.color));
  if (!options.emit.empty()) {
    if (answer.is_no() && !common.quiet) {
      fmt::print(stderr, "warning: this plan does not fit: {} of {} GiB\n",
                 gib_text(prediction.peak_memory), gib_text(scenario.device.memory));
    }
    print_emitted(options.emit, scenario, library, common.quiet);
  } else if (options.format == OutputFormat::json) {
    fmt::print("{}", prediction_json(answer));
  } else {
    print_text(options, answer, terminal(stdout, common.color));
    print_gap(details.causes, terminal(stdout, common.color));
    print_nearest(answer, terminal(stdout, common.color));
  }
  return answer.is_no() ? kExitNo : kExitDone;
}

}  // namespace prequel
