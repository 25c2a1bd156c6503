#include "cli/search/clusters.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "cli/flags/value_lists.hpp"
#include "cli/search/plan_table.hpp"
#include "cli/search/search_format.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/number_text.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

std::vector<std::string> names_of(const SearchOptions& options) {
  return split(options.request.cluster.value_or(""), ',');
}

void check(const SearchOptions& options, const std::vector<std::string>& names) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("--cluster " + printable(*options.request.cluster) + ": " + why);
  };
  for (const std::string& name : names) {
    if (name.empty()) refuse("a name between two commas is missing");
    if (std::ranges::count(names, name) > 1) refuse(printable(name) + " is said twice");
    if (options.objective == "cost" && !(options.price > 0) && !options.prices.contains(name)) {
      refuse("--objective cost needs --price-of " + printable(name) + "=…, or --price for all");
    }
  }
  for (const auto& [name, price] : options.prices) {
    if (std::ranges::find(names, name) == names.end()) {
      refuse("--price-of " + printable(name) + " is none of them");
    }
  }
  if (!options.emit.empty() || !options.report.empty() || !options.explain.empty() ||
      options.pareto || options.format == OutputFormat::csv) {
    refuse("--emit, --report, --explain, --pareto and --csv speak of one cluster");
  }
}

/// One of the best plans of a cluster.
struct Place {
  const SearchAnswer* answer{};
  std::size_t rank{};

  [[nodiscard]] const FoundPlan& found() const { return answer->result.plans[rank]; }
};

/// Returns the key by which plans of several clusters are ranked; less is better.
std::tuple<double, double> key_of(const Place& place) {
  const SearchOptions& options = place.answer->options;
  const FoundPlan& found = place.found();
  const double seconds = found.sec_per_iter;
  if (options.fewest_gpus) return {static_cast<double>(found.plan.gpus), seconds};
  if (options.objective == "time" || options.objective == "days") return {seconds, 0};
  const double per_token = 1 / tokens_per_gpu(found);
  return {options.objective == "cost" ? per_token * place.answer->price() : per_token, seconds};
}

std::vector<Place> ranked(const std::vector<SearchAnswer>& answers) {
  std::vector<Place> places;
  for (const SearchAnswer& answer : answers) {
    for (std::size_t rank = 0; rank < answer.best.size(); ++rank) places.push_back({&answer, rank});
  }
  std::ranges::stable_sort(places, {}, key_of);
  places.resize(std::min(places.size(), answers.front().options.top));
  return places;
}

/// Returns the records of those plans, which say their cluster.
Json ranked_json(const std::vector<SearchAnswer>& answers) {
  Json plans = Json::array();
  for (const Place& place : ranked(answers)) {
    Json plan = found_json(*place.answer, place.rank);
    // Odds are among the plans of one cluster.
    for (const char* among_its_own : {"tie_with_best", "odds_best", "expected_loss"}) {
      plan.erase(among_its_own);
    }
    plan["rank"] = plans.size() + 1;
    plan["cluster"] = place.answer->inputs.cluster.name;
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// The cheapest, or the one of the fewest GPUs, of all clusters.
template <class Key>
const SearchAnswer* best_in_time(const std::vector<SearchAnswer>& answers, const Key& key) {
  const SearchAnswer* best = nullptr;
  for (const SearchAnswer& answer : answers) {
    if (!answer.fewest_gpus || !answer.cheapest) continue;
    if (!best || key(answer) < key(*best)) best = &answer;
  }
  return best;
}

double spent(const SearchAnswer& answer) {
  return answer.cost(*answer.cheapest).value_or(*answer.gpu_hours(*answer.cheapest));
}
double fewest(const SearchAnswer& answer) {
  return static_cast<double>(answer.fewest_gpus->plan.gpus);
}

}  // namespace

bool asks_clusters(const SearchOptions& options) {
  return names_of(options).size() > 1;
}

std::vector<SearchAnswer> answer_clusters(const Library& library, const SearchOptions& options,
                                          const Tell& tell, const SearchWatch& watch) {
  const std::vector<std::string> names = names_of(options);
  check(options, names);
  std::vector<SearchAnswer> answers;
  for (const std::string& name : names) {
    SearchOptions one = options;
    one.request.cluster = name;
    one.prices.clear();
    if (const auto price = options.prices.find(name); price != options.prices.end()) {
      one.price = price->second;
    }
    answers.push_back(answer_search(library, one, tell, watch));
    if (answers.back().result.interrupted) break;
  }
  return answers;
}

bool is_no(const std::vector<SearchAnswer>& answers) {
  return std::ranges::all_of(
      answers, [](const SearchAnswer& answer) { return answer.result.plans.empty(); });
}

std::string clusters_text(const std::vector<SearchAnswer>& answers, const Terminal& terminal) {
  const SearchAnswer& first = answers.front();
  std::string text =
      inked(terminal, Ink::bold,
            fmt::format("{} on {} clusters", first.inputs.model.name, answers.size()));
  text += "\n\n";
  TextTable counts({"cluster", "device", "software", "legal", "fit", "best sec/it"});
  for (const SearchAnswer& answer : answers) {
    const SearchInputs& inputs = answer.inputs;
    const auto& [legal, fitting] = std::pair(answer.result.legal, answer.result.fitting);
    counts.row(
        inputs.cluster.name, inputs.device.name, inputs.software.name, legal, fitting,
        answer.result.plans.empty() ? "none" : fixed(answer.result.plans.front().sec_per_iter, 2));
  }
  text += counts.text(terminal.width) + "\n";
  Json plans = ranked_json(answers);
  const std::vector<Place> places = ranked(answers);
  for (std::size_t i = 0; i < places.size(); ++i) {
    plans[i]["layout"] = layout_text(places[i].found().plan);
  }
  text += record_table(plans,
                       {{"rank", "/rank"},
                        {"cluster", "/cluster"},
                        {"GPUs", "/plan/gpus"},
                        {"sec/it", "/sec_per_iter", fixed_cell(2)},
                        {"tokens/s/GPU", "/tokens_per_sec_per_gpu", fixed_cell(0)},
                        {"MFU %", "/mfu", percent_cell()},
                        {"GiB", "/memory/peak_gib", fixed_cell(1)},
                        {"memory", "/memory/verdict", verdict_cell},
                        {"days", "/days", fixed_cell(1)},
                        {"GPU-hours", "/gpu_hours", fixed_cell(0)},
                        {"cost", "/cost", fixed_cell(0)},
                        {"plan", "/layout"}},
                       0, "  ");
  for (const SearchAnswer& answer : answers) {
    if (!answer.result.plans.empty()) continue;
    text += fmt::format("{}{}: {}", plans.empty() ? "" : "\n", answer.inputs.cluster.name,
                        no_plan_text(answer, terminal.at_most(100)));
  }
  const auto line = [&](const char* what, const SearchAnswer& answer, const FoundPlan& found) {
    const auto cost = answer.cost(found);
    text +=
        fmt::format("  {}: {} GPUs of {}, {:.1f} days, {:.0f} GPU-hours{}\n", what, found.plan.gpus,
                    answer.inputs.cluster.name, *answer.training_seconds(found) / kDay,
                    *answer.gpu_hours(found), cost ? fmt::format(", cost {:.0f}", *cost) : "");
  };
  if (const SearchAnswer* best = best_in_time(answers, fewest)) {
    text += fmt::format("\nWithin {:.4g} days:\n", *first.options.within / kDay);
    line("fewest GPUs", *best, *best->fewest_gpus);
  }
  if (const SearchAnswer* best = best_in_time(answers, spent)) {
    line("cheapest", *best, *best->cheapest);
  }
  return text;
}

Json clusters_json(const std::vector<SearchAnswer>& answers) {
  std::vector<Json> documents;
  for (const SearchAnswer& answer : answers) documents.push_back(search_json(answer));
  Json all = documents.front();
  for (const char* one :
       {"plans", "try", "pareto", "cluster", "device", "software", "error", "nearest_misses",
        "relaxations", "refused", "within", "recommendation", "risky"}) {
    all.erase(one);
  }
  for (const char* count : {"considered", "legal", "required", "fitting", "seconds"}) {
    for (std::size_t i = 1; i < documents.size(); ++i) {
      const Json& more = documents[i][count];
      if (more.is_number_integer()) {
        all[count] = all[count].get<std::int64_t>() + more.get<std::int64_t>();
      } else {
        all[count] = all[count].get<double>() + more.get<double>();
      }
    }
  }
  all["interrupted"] = std::ranges::any_of(
      answers, [](const SearchAnswer& answer) { return answer.result.interrupted; });
  all["plans"] = ranked_json(answers);
  all["clusters"] = Json::array();
  for (const Json& document : documents) {
    Json one;
    for (const char* key :
         {"cluster", "device", "software", "error", "considered", "legal", "fitting", "warnings",
          "nearest_misses", "relaxations", "within", "recommendation", "risky"}) {
      if (document.contains(key)) one[key] = document[key];
    }
    all["clusters"].push_back(std::move(one));
  }
  return all;
}

}  // namespace prequel
