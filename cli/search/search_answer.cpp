#include "cli/search/search_answer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/flags/flags.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/value_lists.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/search/plan_ranking.hpp"
#include "cli/search/search_axes.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/translate/idle_settings.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/parallel.hpp"
#include "hw/base/text.hpp"
#include "models/job/job_site.hpp"
#include "models/job/usual_software.hpp"
#include "models/plan/idle_requests.hpp"
#include "models/plan/rules.hpp"
#include "models/plan/trained_model.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/search/confirmation.hpp"

namespace prequel {
namespace {

constexpr std::ptrdiff_t kConfirmed = 10;      // of the best plans, by the detailed engine
constexpr double kLeastToRelax = 2;            // seconds; more where the search took more
constexpr std::int64_t kMostPlayed = 100'000;  // legal plans, where all are told of

/// Tests whether all plans of a search share an axis that the user does not list: one that stacks
/// offer, where this stack offers only its default.
bool is_shared(const auto& axis, const Software& software) {
  return axis.use == AxisUse::offered && axis.of(software.choices).empty();
}

/// With a table of plans, an axis flag says what its rows leave out.
void fix_axes(const SearchOptions& options, JobRequest& request) {
  each_axis([&](const auto& axis) {
    const auto said = options.axes.find(std::string(axis.name));
    if (said == options.axes.end()) return;
    std::string value = said->second;
    if constexpr (std::is_same_v<decltype(axis.domain), Domain<bool>>) {
      value = value == "on" ? "true" : "false";
    }
    add_override(request.overrides, {"plan." + std::string(axis.name), value, flag_of(axis.name)});
  });
}

/// Refuses what --set says of fields whose values are searched.
void check_overrides(const SearchOptions& options, const Software& software) {
  each_axis([&](const auto& axis) {
    const std::string path = "plan." + std::string(axis.name);
    for (const Override& override : options.request.overrides) {
      if (override.from != "--set" || override.path != path || !is_listed(axis.use)) continue;
      const std::string set = printable("--set " + override.path + "=" + override.value);
      if (is_searched(axis.use) && !is_shared(axis, software)) {
        throw InputError(
            fmt::format("{}: {} is searched; {} restricts it", set, axis.name, flag_of(axis.name)));
      }
      const bool by_most = axis.name == "nodes" && options.max_nodes;
      if (options.axes.contains(std::string(axis.name)) || by_most) {
        throw InputError(fmt::format("{}: {} says it, too; one of them would do", set,
                                     by_most ? "--max-nodes" : flag_of(axis.name)));
      }
    }
  });
}

/// Returns the values of a job's plan that hold for all plans, as the stack offers nothing else;
/// the rest is searched.
PlanRequest shared_by_all(PlanRequest plan, const Software& software) {
  each_axis([&](const auto& axis) {
    if (is_searched(axis.use) && !is_shared(axis, software)) axis.of(plan).reset();
  });
  return plan;
}

/// Tests whether the whole answer is asked for, not only the part that people read.
bool is_document(const SearchOptions& options) {
  return options.format == OutputFormat::json || !options.report.empty();
}

SearchLimits limits_of(const SearchOptions& options) {
  SearchLimits limits;
  for (const std::string& text : options.requirements) {
    limits.requirements.push_back(Requirement::parse(text));
  }
  limits.memory_headroom = options.memory_headroom;
  limits.objective = options.objective == "time"   ? SearchGoal::time
                     : options.objective == "days" ? SearchGoal::days
                                                   : SearchGoal::efficiency;
  if (options.fewest_gpus) limits.objective = SearchGoal::gpus;
  if (options.within) limits.least_rate = *options.tokens / *options.within;
  return limits;
}

/// Explanations and the Pareto front speak of all plans that fit, where these are not too many.
void set_wanted(const SearchOptions& options, const Candidates& candidates, SearchLimits& limits) {
  limits.front = (is_document(options) && options.try_first > 0) || options.pareto;
  const bool all = limits.front || !options.explain.empty();
  limits.best = all && candidates.plans() <= kMostPlayed ? 0 : std::max(options.top, kJudged);
}

/// Adds the plans of the fewest GPUs and of the fewest GPU-hours among those that are in time.
void add_deadline(SearchAnswer& answer, const Ranker& ranker, Searcher& searcher,
                  SearchLimits limits) {
  if (!answer.options.within || answer.result.plans.empty()) return;
  if (ranker.watch().is_stopped()) return;
  limits.best = 1;
  limits.front = false;
  const auto best_by = [&](SearchGoal objective) {
    limits.objective = objective;
    const SearchResult result = ranker.rank(searcher, limits, 1).result;
    return result.plans.empty() ? std::nullopt : std::optional(result.plans.front());
  };
  answer.fewest_gpus = best_by(SearchGoal::gpus);
  answer.cheapest = best_by(SearchGoal::efficiency);
  const FoundPlan& best = answer.result.plans.front();
  const Prediction prediction = predict_plan(answer.inputs, best.plan, best.shape);
  limits.least_rate *= 1 + prediction.relative_error;
  answer.surely_in_time = best_by(SearchGoal::gpus);
}

constexpr auto kAnyNodes = std::numeric_limits<std::size_t>::max();

/// Tests whether a search for the fewest GPUs may look at few nodes first: not where it is asked
/// for more than the best plans.
bool grows(const SearchOptions& options) {
  return options.fewest_gpus && !is_document(options) && !options.pareto && !options.plans &&
         options.explain.empty() && !asks_for_reservations(options);
}

/// Makes a ranking that of the answer, which keeps its notes.
void take_ranking(Ranking ranking, SearchAnswer& answer) {
  ranking.notes.insert(ranking.notes.begin(), answer.notes.begin(), answer.notes.end());
  static_cast<Ranking&>(answer) = std::move(ranking);
}

/// Where nothing fits and the tensor-parallel degree is free, with groups of several nodes, too:
/// "no" would be false where a node cannot hold the model.
void reach_further(SearchAnswer& answer, const SearchAxes& said, SearchAxes& axes,
                   Candidates& candidates, SearchLimits& limits, const Ranker& ranker,
                   std::optional<Searcher>& searcher) {
  const SearchOptions& options = answer.options;
  const SearchResult& result = answer.result;
  if (!result.plans.empty() || result.interrupted || !said.tp.empty() || options.everything) return;
  SearchAxes further = fill_axes(said, answer.inputs, Reach::beyond_links);
  Candidates more = legal_plans(further, answer.inputs, ranker.watch().unheard());
  if (ranker.watch().is_stopped()) return;
  set_wanted(options, more, limits);
  Searcher of_more(more, answer.inputs);
  Ranking found = ranker.rank(of_more, limits, kJudged);
  if (found.result.plans.empty()) return set_wanted(options, candidates, limits);
  answer.notes.push_back(
      fmt::format("no plan fits whose tensor-parallel groups stay where device links join them: tp "
                  "up to {} was searched, over the network",
                  further.tp.back()));
  take_ranking(std::move(found), answer);
  axes = std::move(further);
  candidates = std::move(more);
  searcher.emplace(candidates, answer.inputs);
}

/// The values of a list that no plan takes, a note an axis and reason.
void note_untaken(SearchAnswer& answer, const std::vector<UntakenValue>& untaken) {
  for (std::size_t i = 0; i < untaken.size();) {
    const UntakenValue& one = untaken[i];
    std::string values = one.value;
    while (++i < untaken.size() && untaken[i].axis == one.axis && untaken[i].why == one.why) {
      values += ", " + untaken[i].value;
    }
    answer.notes.push_back(fmt::format("{} {}: no legal plan has it{}", flag_of(one.axis), values,
                                       one.why.empty() ? "" : "; " + one.why));
  }
}

void check_objective(const SearchOptions& options) {
  const bool total = options.objective != "time" && options.objective != "tokens";
  if (total && !options.tokens) {
    throw InputError("--objective " + options.objective + ": needs --tokens of the whole training");
  }
  if (options.objective == "cost" && !(options.price > 0) && options.prices.empty()) {
    throw InputError("--objective cost: needs --price of one GPU-hour");
  }
}

/// Refuses prices of clusters that nobody searches.
void check_prices(const SearchOptions& options, const Cluster& cluster) {
  for (const auto& [name, price] : options.prices) {
    if (name == cluster.name || name == options.request.cluster) continue;
    throw InputError("--price-of " + printable(name) + ": the cluster is " + cluster.name);
  }
}

/// The inputs that the options name; `fixed` is the whole plan that they say.
SearchInputs read_inputs(const Library& library, const SearchOptions& options, const Tell& tell) {
  JobRequest request = translated(options.request, options.script, library, tell);
  if (options.plans) fix_axes(options, request);
  const auto searched = [&](const auto& axis) {
    const auto said = options.axes.find(std::string(axis.name));
    return said == options.axes.end() ? std::string() : said->second;
  };
  if (!request.software && !request.job && trains_whole_adapters(searched)) {
    request.software = adapter_software(library.open("stand_ins", "stacks"));
    tell("warning: no --software: adapters are searched as " + *request.software +
         " trains them, by which most are\n");
  }
  Job job = read_job(library, request);
  if (job.what_if.any()) {
    throw InputError(request.job.value_or("--set") +
                     ": what_if: a search predicts plans on a machine as it should be; take it out "
                     "and ask prequel predict about the plan found");
  }
  const std::string replaced = replace_precision(job.software, job.device);
  if (!job.plan.precision && !replaced.empty()) tell("warning: " + replaced + "\n");
  PlanRequest plan = std::move(job.plan);
  job.model = trained_model(std::move(job.model), plan);
  return {static_cast<Inputs&&>(std::move(job)), std::move(plan)};
}

/// How sure the first of the best plans are, and which of them is the best: of as many whatever is
/// printed, so that a plan's odds do not tell how long the list is.
void add_odds(const Library& library, SearchAnswer& answer) {
  const Uncertainty uncertainty = shipped_uncertainty(library);
  const SearchInputs& inputs = answer.inputs;
  const auto scenario = [&](std::size_t rank) {
    const FoundPlan& found = answer.result.plans[rank];
    return scenario_of(inputs, found.plan, found.shape);
  };
  if (answer.intervals.empty()) return;
  for (std::size_t i = 0; i < std::min(answer.best.size(), answer.intervals.size()); ++i) {
    state_error(answer.intervals[i], answer.best[i]);
    state_verdict(answer.intervals[i], answer.best[i]);
  }
  std::vector<UncertainPlan> plans;
  for (std::size_t i = 0; i < answer.intervals.size(); ++i) {
    FoundPlan& found = answer.result.plans[i];
    found.verdict = verdict_of(answer.intervals[i].fits_probability, found.verdict);
    // Among plans of as many devices, the fastest is the best; more of them cost as much more.
    const double value = answer.options.fewest_gpus
                             ? found.sec_per_iter * static_cast<double>(found.plan.gpus)
                             : found.value;
    plans.push_back({value, answer.intervals[i].slopes, answer.intervals[i].fits_probability,
                     traits_of(found.plan)});
  }
  if (answer.options.try_first == 0) return;
  answer.odds = odds(plans, spread_of(scenario(0), uncertainty));
}

}  // namespace

std::vector<std::size_t> SearchAnswer::to_try(std::size_t most) const {
  const auto count = static_cast<std::ptrdiff_t>(std::min(best.size(), odds.size()));
  const std::vector<Odds> printed(odds.begin(), odds.begin() + count);
  return most_promising(printed, most, [this](std::size_t first, std::size_t second) {
    const FoundPlan& one = result.plans[first];
    const FoundPlan& other = result.plans[second];
    double axes = one.shape == other.shape ? 0 : 1;
    each_axis([&](const auto& axis) { axes += axis.of(one.plan) == axis.of(other.plan) ? 0 : 1; });
    return axes;
  });
}

namespace {

/// Share of the recommended plan's memory that a fallback needs at most.
constexpr double kClearlyLess = 0.9;
/// Two plans whose odds of being the best are closer than this ratio cannot be told apart.
constexpr double kClearlyAhead = 3.0;

/// Returns the fastest plan that needs clearly less memory; else the one that needs the least.
std::optional<std::size_t> fallback_of(const SearchAnswer& answer) {
  const std::vector<FoundPlan>& plans = answer.result.plans;
  const std::size_t printed = answer.best.size();
  std::optional<std::size_t> smallest;
  for (std::size_t i = 1; i < printed; ++i) {
    if (plans[i].peak_memory <= kClearlyLess * plans.front().peak_memory) return i;
    const Bytes least = plans[smallest.value_or(0)].peak_memory;
    if (plans[i].peak_memory < least) smallest = i;
  }
  return smallest;
}

std::vector<std::size_t> ranks_to_measure(const SearchAnswer& answer) {
  std::vector<std::size_t> ranks = answer.to_try(2);
  if (ranks.size() < 2) return {};
  const double first = answer.odds[ranks[0]].best, second = answer.odds[ranks[1]].best;
  if (first > kClearlyAhead * second) return {};
  std::ranges::sort(ranks);
  return ranks;
}

std::string recommendation_words(const SearchAnswer& answer, const Recommendation& what) {
  const auto gib = [](const FoundPlan& found) { return found.peak_memory.value / kGiB; };
  const auto& plans = answer.result.plans;
  const FoundPlan& best = what.plan;
  std::string text = fmt::format(
      "Take rank 1, {}: {:.2f} s ± {:.0f} %, {:.1f} of {:.1f} GiB, and it fits with a probability "
      "of "
      "{:.0f} %.",
      layout_text(best.plan), best.sec_per_iter, 100 * answer.stated_error(), gib(best),
      answer.inputs.device.memory.value / kGiB, 100 * answer.intervals.front().fits_probability);
  if (what.fallback) {
    const FoundPlan& other = plans[*what.fallback];
    text +=
        fmt::format(" If it runs out of memory, take rank {}, {}: {:.2f} s, {:.1f} GiB.",
                    *what.fallback + 1, layout_text(other.plan), other.sec_per_iter, gib(other));
  } else if (plans.size() > 1) {
    text += " None of the others needs less memory.";
  }
  if (what.measure.size() == 2) {
    text += fmt::format(
        " Measure ranks {} and {} on a few nodes: the prediction cannot tell which is faster.",
        what.measure[0] + 1, what.measure[1] + 1);
  } else if (plans.size() > 1) {
    text += " None of the others is likely to be faster.";
  }
  return text;
}

/// Returns the share by which steps may take longer until a plan is late.
double spare_time(const SearchAnswer& answer, const FoundPlan& found) {
  return *answer.options.within / *answer.training_seconds(found) - 1;
}

/// Returns the plan to take for a deadline: nobody asks for the fastest, but for few GPUs.
Recommendation recommend_in_time(const SearchAnswer& answer) {
  const auto days = [&](const FoundPlan& found) { return *answer.training_seconds(found) / kDay; };
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  const FoundPlan& fewest = *answer.fewest_gpus;
  Recommendation what{answer.surely_in_time.value_or(answer.result.plans.front()), {}, {}, {}};
  const bool is_sure = answer.surely_in_time.has_value();
  what.text = fmt::format(
      "Take {} GPUs{}, {}: {:.1f} days, and in time unless steps take {} longer.",
      what.plan.plan.gpus, is_sure ? "" : ", the fastest plan", layout_text(what.plan.plan),
      days(what.plan), percent(spare_time(answer, what.plan)));
  if (fewest.plan.gpus < what.plan.plan.gpus) {
    what.text += fmt::format(
        " {} GPUs would do in {:.1f} days, but are late if steps take {} longer, and the "
        "prediction may be {} off.",
        fewest.plan.gpus, days(fewest), percent(spare_time(answer, fewest)),
        percent(answer.stated_error()));
  }
  what.text += " Failures come on top; --risk 0.9 counts them.";
  return what;
}

/// Returns what the ranked plans of an answer recommend, with its odds; nothing where none is.
std::optional<Recommendation> recommend(const SearchAnswer& answer) {
  if (answer.best.empty() || answer.odds.empty()) return std::nullopt;
  const bool by_default = answer.options.objective == "time" && !answer.options.fewest_gpus;
  if (answer.fewest_gpus && by_default && answer.reserved.empty()) return recommend_in_time(answer);
  Recommendation what;
  what.plan = answer.result.plans.front();
  what.fallback = fallback_of(answer);
  what.measure = ranks_to_measure(answer);
  what.text = recommendation_words(answer, what);
  return what;
}

/// Notes wishes for all plans that change none of the best of them.
void note_idle_wishes(const SearchAxes& said, SearchAnswer& answer) {
  PlanRequest request = answer.inputs.fixed;
  each_axis([&](const auto& axis) {
    const auto& values = axis.of(said);
    if (is_listed(axis.use) && values.size() == 1) axis.of(request) = values.front();
  });
  std::optional<std::vector<std::string>> idle;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const FoundPlan& found = answer.result.plans[i];
    const Scenario scenario = scenario_of(answer.inputs, found.plan, found.shape);
    const std::vector<std::string> of_plan =
        idle_requests(request, found.plan, scenario.model, scenario.software);
    if (!idle) idle = of_plan;
    std::erase_if(*idle, [&](const std::string& one) {
      return std::ranges::find(of_plan, one) == of_plan.end();
    });
  }
  if (idle) answer.notes.insert(answer.notes.end(), idle->begin(), idle->end());
}

/// The answer but for what is asked in vain.
SearchAnswer searched(const Library& library, const SearchOptions& options, const Tell& tell,
                      const SearchWatch& watch) {
  check_objective(options);
  SearchLimits limits = limits_of(options);
  const Reach reach = options.everything ? Reach::everything : Reach::usual;
  std::vector<PlanRequest> layouts;
  for (const std::string& text : options.explain) layouts.push_back(read_layout("--explain", text));
  SearchAnswer answer;
  answer.options = options;
  SearchInputs& inputs = answer.inputs = read_inputs(library, options, tell);
  check_prices(options, inputs.cluster);
  answer.notes = stand_ins(inputs.software, inputs.cluster);
  if (!options.plans) check_overrides(options, inputs.software);

  const auto begin = std::chrono::steady_clock::now();
  Candidates candidates;
  SearchAxes axes, said;
  std::size_t most_nodes = grows(options) ? 1 : kAnyNodes;
  const auto combine = [&] {
    axes = fill_axes(said, inputs, reach);
    axes.nodes.resize(std::min(axes.nodes.size(), most_nodes));
    candidates = legal_plans(axes, inputs, watch);
  };
  if (options.plans) {
    PlanTable table = read_plan_table(options, inputs);
    if (std::filesystem::is_regular_file(*options.plans)) {  // a pipe can be read but once
      library.note_input("plans", *options.plans, read_file(*options.plans));
    }
    answer.overruled = std::move(table.overruled);
    candidates = legal_plans(table.requests, inputs, Refusals::all);
  } else {
    inputs.fixed = shared_by_all(inputs.fixed, inputs.software);
    if (options.gpus && *options.gpus < inputs.cluster.devices_per_node) {
      inputs.part_of_node = *options.gpus;
    }
    said = read_axes(options, inputs);
    const PlanJudgement shared = judge_shared(inputs, said);
    if (!shared.problems.empty()) throw InputError(shared.problems);
    if (std::string assumed = assumed_sequence(inputs.fixed, inputs.model); !assumed.empty()) {
      answer.notes.push_back(std::move(assumed));
    }
    answer.shapes = read_shapes(options, inputs.model);
    said.shapes = answer.shapes.shapes;
    combine();
  }
  std::optional<Site> site;
  if (asks_for_reservations(options)) {
    site = site_of(library, inputs.cluster, options.reservation.maturity);
    limits.counted = counted_by_nodes(inputs, *site, options, candidates);
  }
  set_wanted(options, candidates, limits);
  const Ranker ranker(library, options, inputs, watch);
  const std::size_t wanted = options.try_first > 0 ? std::max(kJudged, options.top) : options.top;
  std::optional<Searcher> searcher(std::in_place, candidates, inputs);
  Ranking ranking = ranker.rank(*searcher, limits, wanted);
  // More nodes are more GPUs: none of theirs is before those found on fewer.
  while (most_nodes < said.nodes.size() && ranking.result.ranked < wanted && !watch.is_stopped()) {
    most_nodes *= 2;
    combine();
    searcher.emplace(candidates, inputs);
    ranking = ranker.rank(*searcher, limits, wanted);
  }
  take_ranking(std::move(ranking), answer);
  const SearchResult& result = answer.result;
  if (!options.plans && !result.interrupted) {
    reach_further(answer, said, axes, candidates, limits, ranker, searcher);
    SearchAxes listed = said;
    if (!options.axes.contains("nodes")) listed.nodes.clear();
    note_untaken(answer, untaken_values(listed, axes, candidates, inputs, watch));
  }
  add_deadline(answer, ranker, *searcher, limits);
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };

  std::vector<FoundPlan> best(
      result.plans.begin(),
      result.plans.begin() + static_cast<std::ptrdiff_t>(std::min(result.ranked, options.top)));
  for (const FoundPlan& found : best) {
    answer.best.push_back(predict_plan(inputs, found.plan, found.shape));
  }
  add_odds(library, answer);
  if (site) {
    answer.maturity = site->name;
    answer.reserved =
        reserved_plans(inputs, *site, options, result.plans, answer.intervals, answer.price());
  }
  answer.recommendation = recommend(answer);
  if (!result.interrupted) {
    answer.detailed = detailed_seconds(
        {best.begin(), best.begin() + std::min(std::ssize(best), kConfirmed)}, inputs);
  }
  if (!is_document(options)) best.resize(std::min<std::size_t>(1, best.size()));
  answer.gains.resize(best.size());
  if (!result.interrupted && options.try_first > 0)
    answer.gains = gains(best, candidates, inputs, limits, 1.1, watch.unheard());
  if (watch.is_stopped()) answer.gains.assign(best.size(), {});  // half of them may be wrong
  if (result.plans.empty() && !result.interrupted) {
    answer.relaxations = options.plans ? relaxations(candidates, inputs, limits, watch)
                                       : relaxations(said, inputs, limits, reach, watch,
                                                     std::max(kLeastToRelax, elapsed()));
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    Explanation explanation = explain(layouts[i], axes, inputs, limits, candidates, result);
    // Its place is among all plans that fit, not among the rows alone.
    const bool all_rows = options.plans || (options.unfold && options.risk == 0.0);
    const bool behind =
        explanation.verdict == LayoutVerdict::ranked && (explanation.rank == 0 || !all_rows);
    if (behind && options.risk.value_or(0) == 0 && !result.interrupted) {
      const auto before = plans_before(explanation.value, candidates, inputs, limits, watch);
      if (before) explanation.rank = *before + 1;
    }
    answer.explained.push_back({options.explain[i], std::move(explanation)});
  }
  if (!options.plans) note_idle_wishes(said, answer);
  answer.seconds = elapsed();
  if (result.interrupted) {
    std::vector<std::vector<Candidate>> all;
    all.push_back(std::move(candidates.legal));
    free_later(std::move(all));
  }
  return answer;
}

/// Returns what is predicted of the best plans of `answer` where the options ask.
std::string told_of_best(const Library& library, const SearchOptions& options,
                         const SearchAnswer& answer) {
  SearchInputs inputs = read_inputs(library, options, [](const std::string&) {});
  inputs.edited.clear();  // that something was set is no effect of it
  const Uncertainty uncertainty = shipped_uncertainty(library);
  std::string told;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const auto& [plan, shape, seconds, value, memory, verdict] = answer.result.plans[i];
    PlanRequest request;
    each_axis([&, &plan = plan](const auto& axis) { axis.of(request) = axis.of(plan); });
    const Scenario scenario = scenario_of(inputs, plan, shape);
    if (!legal_plan(request, scenario.model, scenario.cluster, scenario.software)) {
      told += "illegal\n";
      continue;
    }
    const Prediction prediction = predict(scenario);
    PredictionDetails details;
    if (i < kJudged) details.interval = interval(scenario, prediction, uncertainty);
    told += prediction_json(scenario, prediction, std::nullopt, details);
  }
  return told;
}

/// All that the answer says, in short.
std::string told_in_short(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  std::string told = fmt::format("{} {} {} {}\n", result.considered, result.legal, result.required,
                                 result.fitting);
  const auto add = [&](const Plan& plan, double seconds, Bytes memory) {
    told += fmt::format("{} {} {}\n", layout_text(plan), seconds, memory.value);
  };
  for (const auto* plans : {&result.plans, &result.also}) {
    for (const FoundPlan& found : *plans) add(found.plan, found.sec_per_iter, found.peak_memory);
  }
  for (const TooLarge& miss : result.nearest_misses) add(miss.plan, 0, miss.needed);
  for (const RefusedPlan& refused : result.refused) {
    told += layout_text(refused.request) + fmt::format("{}\n", fmt::join(refused.problems, "\n"));
  }
  for (const Relaxation& relaxation : answer.relaxations) {
    told += fmt::format("{} {}\n", relaxation.limit, relaxation.fitting);
    add(relaxation.best.plan, relaxation.best.sec_per_iter, relaxation.best.peak_memory);
  }
  for (const ExplainedLayout& explained : answer.explained) {
    const Explanation& why = explained.answer;
    told += fmt::format("{} {} {} {}\n", name(why.verdict), why.rank, why.value, why.needed.value);
  }
  for (const std::vector<Gain>& gains : answer.gains) {
    for (const Gain& gain : gains) told += fmt::format("{} {}\n", gain.resource, gain.saved);
  }
  return told + fmt::format("{}\n", fmt::join(answer.notes, "\n"));
}

}  // namespace

SearchAnswer answer_search(const Library& library, const SearchOptions& options, const Tell& tell,
                           const SearchWatch& watch) {
  SearchAnswer answer = searched(library, options, tell, watch);
  if (answer.result.interrupted) return answer;
  const auto asking = [&](const JobRequest& request) {
    SearchOptions other = options;
    other.request = request;
    return other;
  };
  const Answered of_best = [&](const JobRequest& request) {
    return told_of_best(library, asking(request), answer);
  };
  const Answered of_all = [&](const JobRequest& request) {
    const auto unheard = [](const std::string&) {};
    return told_in_short(searched(library, asking(request), unheard, watch.unheard()));
  };
  std::vector<std::string> idle = idle_settings(options.request, {of_best, of_all}, "search");
  if (watch.is_stopped()) return answer;  // half a search tells nothing
  answer.notes.insert(answer.notes.end(), idle.begin(), idle.end());
  return answer;
}

}  // namespace prequel
