#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "cli/job_flags.hpp"
#include "cli/layout_text.hpp"
#include "cli/report.hpp"
#include "cli/search/axes.hpp"
#include "cli/search/format.hpp"
#include "cli/search/shapes.hpp"
#include "cli/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"
#include "sim/search/confirmation.hpp"

namespace prequel {
namespace {

constexpr std::size_t kConfirmed = 10;  // of the best plans, by the detailed engine
constexpr std::size_t kRefused = 20;    // plans of a table that are told why

/// Set by SIGINT while one is on the stack.
class Interruption {
 public:
  Interruption() : before_(std::signal(SIGINT, [](int) { flag() = true; })) {}
  ~Interruption() { std::signal(SIGINT, before_); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static std::atomic<bool>& flag() {
    static std::atomic<bool> interrupted{false};
    return interrupted;
  }

 private:
  void (*before_)(int);
};

/// With a table of plans, an axis flag says what its rows leave out.
void fix_axes(const SearchOptions& options, JobRequest& request) {
  for (const auto& [axis, text] : options.axes) {
    if (axis == "sequence-parallel") {
      add_override(request.overrides, {"plan.sequence_parallel", text == "on" ? "true" : "false",
                                       "--sequence-parallel"});
    } else {
      add_override(request.overrides, {"plan." + axis, text, "--" + axis});
    }
  }
}

/// Refuses what --set says of fields whose values are searched.
void check_overrides(const SearchOptions& options) {
  constexpr std::array kSearched{
      "dp",      "tp", "pp", "vpp", "mbs", "zero", "recompute", "offload", "sequence_parallel",
      "schedule"};
  for (const Override& override : options.request.overrides) {
    if (override.from != "--set" || !override.path.starts_with("plan.")) continue;
    const std::string field = override.path.substr(std::string_view("plan.").size());
    const std::string set = printable("--set " + override.path + "=" + override.value);
    std::string axis = field;
    std::ranges::replace(axis, '_', '-');
    if (std::ranges::find(kSearched, field) != kSearched.end()) {
      throw InputError(fmt::format("{}: {} is searched; --{} restricts it", set, field, axis));
    }
    const bool by_most = field == "nodes" && options.max_nodes;
    if (options.axes.contains(axis) || by_most) {
      throw InputError(fmt::format("{}: --{} says it, too; one of them would do", set,
                                   by_most ? "max-nodes" : axis));
    }
  }
}

/// Refuses what all plans share and none may have, as a single plan that has it is refused.
void check_shared(const SearchInputs& inputs) {
  PlanRequest plainest = inputs.fixed;
  plainest.nodes = std::nullopt;
  plainest.gbs = 1;
  plainest.zero = 0;
  plainest.offload = Offload::none;
  plainest.recompute = Recompute::none;
  plainest.sequence_parallel = false;
  plainest.schedule = "1f1b";
  const PlanJudgement judged = judge_plan(plainest, inputs.model, inputs.cluster, inputs.software);
  if (!judged.problems.empty()) throw InputError(judged.problems);
}

/// What of a job's plan holds for all plans; the rest is searched.
PlanRequest shared_by_all(PlanRequest plan) {
  plan.dp = plan.tp = plan.pp = plan.vpp = plan.mbs = plan.zero = std::nullopt;
  plan.recompute = std::nullopt;
  plan.offload = std::nullopt;
  plan.sequence_parallel = std::nullopt;
  plan.schedule = std::nullopt;
  return plan;
}

/// Whether the whole answer is asked for, not what people read of it.
bool is_document(const SearchOptions& options) {
  return options.format == OutputFormat::json || !options.report.empty();
}

SearchLimits limits_of(const SearchOptions& options) {
  SearchLimits limits;
  for (const std::string& text : options.requirements) {
    limits.requirements.push_back(Requirement::parse(text));
  }
  limits.memory_headroom = options.memory_headroom;
  limits.objective = options.objective == "time" ? Objective::time : Objective::efficiency;
  // Explanations and the Pareto front speak of all plans that fit.
  const bool all = is_document(options) || options.pareto || !options.explain.empty();
  limits.best = all ? 0 : options.top;
  return limits;
}

void check_objective(const SearchOptions& options) {
  const bool total = options.objective == "gpu-hours" || options.objective == "cost";
  if (total && !options.tokens) {
    throw InputError("--objective " + options.objective + ": needs --tokens of the whole training");
  }
  if (options.objective == "cost" && !(options.price > 0)) {
    throw InputError("--objective cost: needs --price of one GPU-hour");
  }
}

/// Progress with the time left, on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r{:60}\r", "");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::size_t done, std::size_t of) const {
    if (!shown_) return;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    const double left = spent.count() * static_cast<double>(of - done) / static_cast<double>(done);
    fmt::print(stderr, "\r{} of {} plans, {:.0f} s left ", done, of, left);
  }

 private:
  bool shown_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void print_answer(const CommonOptions& common, const SearchAnswer& answer) {
  switch (answer.options.format) {
    case OutputFormat::text:
      fmt::print("{}", search_text(answer, terminal(stdout, common.color)));
      break;
    case OutputFormat::json: fmt::print("{}", search_json(answer)); break;
    case OutputFormat::csv: fmt::print("{}", search_csv(answer)); break;
  }
}

/// By the detailed engine, of the first of these; whoever finds another time is told.
std::vector<std::optional<double>> confirmed(std::vector<FoundPlan> plans,
                                             const SearchInputs& inputs) {
  plans.resize(std::min(plans.size(), kConfirmed));
  std::vector<std::optional<double>> detailed = detailed_seconds(plans, inputs);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!detailed[i] || agrees(plans[i], *detailed[i])) continue;
    fmt::print(
        stderr,
        "warning: rank {}: {} s by the clock, but {} s by the event queue: one of the two is "
        "wrong, please report it\n",
        i + 1, plans[i].sec_per_iter, *detailed[i]);
  }
  return detailed;
}

/// What became of a table's plans that are not in the answer, and of flags that they overrule.
void print_left_out(const PlanTable& table, const SearchInputs& inputs,
                    const SearchResult& result) {
  for (const std::string& flag : table.overruled) fmt::print(stderr, "warning: {}\n", flag);
  const auto count = [&](std::int64_t plans, const char* what) {
    if (plans == 0) return;
    fmt::print(stderr, "warning: {} of {} plans: {}\n", plans, result.considered, what);
  };
  count(std::ssize(result.refused), "not legal");
  for (std::size_t i = 0; i < std::min(result.refused.size(), kRefused); ++i) {
    const RefusedPlan& refused = result.refused[i];
    fmt::print(stderr, "  {}{}: {}\n", shape_text(refused.shape, inputs.model),
               layout_text(refused.request), refused.problems.front());
  }
  if (result.interrupted) return;
  count(result.legal - result.required, "legal, but not what is required");
  count(result.required - result.fitting, "out of memory");
}

void emit_best(const CommonOptions& common, const SearchOptions& options,
               const SearchInputs& inputs, const SearchResult& result) {
  const FoundPlan& best = result.plans.front();
  if (!common.quiet) {
    fmt::print(stderr, "the best of {}: {}{}; {:.2f} s per iteration, {:.1f} GiB\n", result.fitting,
               shape_text(best.shape, inputs.model), layout_text(best.plan), best.sec_per_iter,
               best.peak_memory.value / kGiB);
  }
  print_emitted(options.emit, scenario_of(inputs, best.plan, best.shape), common.quiet);
}

}  // namespace

int run_search(const CommonOptions& common, const SearchOptions& options) {
  check_objective(options);
  if (!options.plans) check_overrides(options);
  const SearchLimits limits = limits_of(options);
  std::vector<PlanRequest> layouts;
  for (const std::string& text : options.explain) layouts.push_back(read_layout(text));
  const Library library(common.data_directories);
  JobRequest request = translated(options.request, library, common.quiet);
  if (options.plans) fix_axes(options, request);
  Job job = read_job(library, request);
  if (job.what_if.any()) {
    throw InputError(request.job.value_or("--set") +
                     ": what_if: a search predicts plans on a machine as it should be; take it out "
                     "and ask prequel predict about the plan found");
  }
  SearchInputs inputs{std::move(job.model), std::move(job.device), std::move(job.cluster),
                      std::move(job.software), job.plan};

  const auto begin = std::chrono::steady_clock::now();
  Candidates candidates;
  PlanTable table;
  SearchAxes axes, said;
  ShapeChoice shapes;
  if (options.plans) {
    table = read_plan_table(options, inputs);
    candidates = legal_plans(table.requests, inputs, Refusals::all);
  } else {
    inputs.fixed = shared_by_all(inputs.fixed);
    check_shared(inputs);
    axes = read_axes(options, inputs);
    shapes = read_shapes(options, inputs.model);
    axes.shapes = shapes.shapes;
    said = axes;
    axes = fill_axes(std::move(axes), inputs, options.everything);
    candidates = legal_plans(axes, inputs);
  }
  SearchResult result;
  {
    const Interruption interruption;
    const ProgressLine progress(common.quiet);
    result = search(candidates, inputs, limits,
                    {[&](std::size_t done, std::size_t of) { progress.show(done, of); },
                     &Interruption::flag()});
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (options.plans && !common.quiet) print_left_out(table, inputs, result);

  SearchAnswer answer{inputs, options, result, {}, seconds.count(), {}, {}, {}, {}, shapes};
  std::vector<FoundPlan> best(
      result.plans.begin(),
      result.plans.begin() +
          std::min(std::ssize(result.plans), static_cast<std::ptrdiff_t>(options.top)));
  for (const FoundPlan& found : best) {
    answer.best.push_back(predict_plan(inputs, found.plan, found.shape));
  }
  answer.detailed = confirmed(best, inputs);
  if (!is_document(options)) best.resize(std::min<std::size_t>(1, best.size()));
  answer.gains = gains(best, candidates, inputs, limits);
  if (result.plans.empty() && !result.interrupted) {
    answer.relaxations = options.plans ? relaxations(candidates, inputs, limits)
                                       : relaxations(said, inputs, limits, options.everything);
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    answer.explained.push_back(
        {options.explain[i], explain(layouts[i], axes, inputs, limits, result)});
  }
  if (!options.emit.empty() && !result.plans.empty()) {
    emit_best(common, options, inputs, result);
  } else {
    print_answer(common, answer);
  }
  if (!options.report.empty()) write_file(options.report, search_report(search_json(answer)));
  if (result.interrupted) return kExitInterrupted;
  return result.plans.empty() ? kExitNo : kExitDone;
}

}  // namespace prequel
