#include "cli/commands/commands.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>

#include <fmt/format.h>

#include "cli/commands/progress_line.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/json/json.hpp"
#include "cli/report/report.hpp"
#include "cli/search/clusters.hpp"
#include "cli/search/search_answer.hpp"
#include "cli/search/search_format.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/layout_text.hpp"
#include "hw/base/files.hpp"
#include "sim/search/confirmation.hpp"

namespace prequel {
namespace {

constexpr std::size_t kRefused = 20;  // plans of a table that are told why

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

/// Searches with progress on stderr, until SIGINT.
void watched(const CommonOptions& common, const std::function<void(const SearchWatch&)>& search) {
  const Interruption interruption;
  ProgressLine progress(common.quiet);
  search({progress.of("plans"), &Interruption::flag(), progress.of("parts of the space"),
          [&progress](double seconds) { progress.note_best(seconds); }});
}

void print_answer(const CommonOptions& common, const SearchAnswer& answer) {
  switch (answer.options.format) {
    case OutputFormat::text:
      fmt::print("{}", search_text(answer, terminal(stdout, common.color)));
      break;
    case OutputFormat::json: fmt::print("{}", document_text(search_json(answer))); break;
    case OutputFormat::csv: fmt::print("{}", search_csv(answer)); break;
  }
}

/// Plans whose seconds the detailed engine does not find.
void print_disagreements(const SearchAnswer& answer) {
  for (std::size_t i = 0; i < answer.detailed.size(); ++i) {
    const FoundPlan& found = answer.result.plans[i];
    if (!answer.detailed[i] || agrees(found, *answer.detailed[i])) continue;
    fmt::print(
        stderr,
        "warning: rank {}: {} s by the clock, but {} s by the event queue: one of the two is "
        "wrong, please report it\n",
        i + 1, found.sec_per_iter, *answer.detailed[i]);
  }
}

/// Prints the fate of a table's plans that are not in the answer, and of flags that they overrule.
void print_left_out(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  for (const std::string& flag : answer.overruled) fmt::print(stderr, "warning: {}\n", flag);
  const auto count = [&](std::int64_t plans, const char* what) {
    if (plans == 0) return;
    fmt::print(stderr, "warning: {} of {} plans: {}\n", plans, result.considered, what);
  };
  count(std::ssize(result.refused), "not legal");
  for (std::size_t i = 0; i < std::min(result.refused.size(), kRefused); ++i) {
    const RefusedPlan& refused = result.refused[i];
    fmt::print(stderr, "  {}{}: {}\n", shape_text(refused.shape, answer.inputs.model),
               layout_text(refused.request), refused.problems.front());
  }
  if (result.interrupted) return;
  count(result.legal - result.required, "legal, but not what is required");
  count(result.required - result.fitting, "out of memory");
}

void emit_best(const CommonOptions& common, const SearchAnswer& answer, const Library& library) {
  const SearchInputs& inputs = answer.inputs;
  const FoundPlan& best = answer.result.plans.front();
  if (!common.quiet) {
    fmt::print(stderr, "the best of {}: {}{}; {:.2f} s per iteration, {:.1f} GiB\n",
               answer.result.fitting, shape_text(best.shape, inputs.model), layout_text(best.plan),
               best.sec_per_iter, best.peak_memory.value / kGiB);
  }
  print_emitted(answer.options.emit, scenario_of(inputs, best.plan, best.shape), library,
                common.quiet);
}

/// Runs the search on several clusters at once.
int run_on_clusters(const CommonOptions& common, const SearchOptions& options) {
  const Library library(common.data_directories);
  std::vector<SearchAnswer> answers;
  watched(common, [&](const SearchWatch& watch) {
    answers = answer_clusters(library, options, tell_stderr(common.quiet), watch);
  });
  for (SearchAnswer& answer : answers) {
    answer.context = {common.call, library.inputs()};
    for (const std::string& note : answer.notes) {
      if (!common.quiet) {
        fmt::print(stderr, "warning: {}: {}\n", answer.inputs.cluster.name, note);
      }
    }
    print_disagreements(answer);
  }
  fmt::print("{}", options.format == OutputFormat::json
                       ? document_text(clusters_json(answers))
                       : clusters_text(answers, terminal(stdout, common.color)));
  if (answers.back().result.interrupted) return kExitInterrupted;
  return is_no(answers) ? kExitNo : kExitDone;
}

}  // namespace

int run_search(const CommonOptions& common, const SearchOptions& options) {
  if (asks_clusters(options)) return run_on_clusters(common, options);
  const Library library(common.data_directories);
  SearchAnswer answer;
  watched(common, [&](const SearchWatch& watch) {
    answer = answer_search(library, options, tell_stderr(common.quiet), watch);
  });
  answer.context = {common.call, library.inputs()};
  if (!options.report.empty())
    write_file(options.report, search_report(search_json(answer).dump(), answer.cloud));
  const SearchResult& result = answer.result;
  if (options.plans && !common.quiet) print_left_out(answer);
  if (!common.quiet) {
    for (const std::string& note : answer.notes) fmt::print(stderr, "warning: {}\n", note);
  }
  print_disagreements(answer);
  if (!options.emit.empty() && !result.plans.empty()) {
    emit_best(common, answer, library);
  } else {
    print_answer(common, answer);
  }
  if (result.interrupted) return kExitInterrupted;
  return result.plans.empty() ? kExitNo : kExitDone;
}

}  // namespace prequel
