#include "cli/search/search_format.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/flags/flags.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/search/plan_table.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/unit_text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/layers/parameters.hpp"
#include "sim/search/confirmation.hpp"
#include "sim/search/pareto.hpp"

namespace prequel {
namespace {

constexpr std::size_t kRefused = 20;  // plans of a table that are told why

double headroom(const SearchInputs& inputs, Bytes memory) {
  return 1.0 - memory / inputs.device.memory;
}

std::string counts(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  return fmt::format(
      "{} combinations considered, {} legal, {} meet the requirements, {} fit; {:.2f} s{}\n",
      result.considered, result.legal, result.required, result.fitting, answer.seconds,
      result.interrupted ? "; interrupted: the best so far" : "");
}

std::string relaxations_text(const SearchAnswer& answer) {
  if (answer.relaxations.empty()) return {};
  std::string text = "What to relax, each alone:\n";
  for (const Relaxation& relaxation : answer.relaxations) {
    const FoundPlan& best = relaxation.best;
    const auto training = answer.training_seconds(best);
    text += fmt::format("  {}{}: {} {} {}; {}{}: {:.2f} s, {} GiB{}\n",
                        relaxation.given_up ? "without " : "", flag_of(relaxation.limit),
                        relaxation.fitting, relaxation.fitting == 1 ? "plan would" : "plans would",
                        answer.options.within ? "do" : "fit",
                        shape_text(best.shape, answer.inputs.model), layout_text(best.plan),
                        best.sec_per_iter, gib_text(best.peak_memory),
                        training ? fmt::format(", {:.1f} days", *training / kDay) : "");
  }
  return text;
}

/// Returns the problems of plans that no rule allows; of the first where there are many.
std::string refusals_text(const SearchAnswer& answer, std::size_t width) {
  const std::vector<RefusedPlan>& refused = answer.result.refused;
  std::string text;
  for (std::size_t i = 0; i < std::min(refused.size(), kRefused); ++i) {
    text += "  " + shape_text(refused[i].shape, answer.inputs.model) +
            layout_text(refused[i].request) + "\n";
    for (const std::string& problem : refused[i].problems) {
      text += "    " + wrapped(problem, width, "      ") + "\n";
    }
  }
  if (refused.size() > kRefused) text += fmt::format("  and {} more\n", refused.size() - kRefused);
  return text;
}

/// The first of the plans found in whole, if there is one.
const Prediction* best_of(const SearchAnswer& answer) {
  return answer.best.empty() ? nullptr : &answer.best.front();
}

/// The shape, with its parameters.
Json sized_json(const SearchInputs& inputs, const ModelShape& shape) {
  Json json = shape_json(shape);
  json["parameters"] = total_parameters(reshaped(inputs.model, shape));
  return json;
}

std::string explanations(const SearchAnswer& answer, const Terminal& terminal) {
  std::string text;
  for (const ExplainedLayout& explained : answer.explained) {
    text += "\n" + explanation_text(explained, answer.result, best_of(answer), terminal);
  }
  return text;
}

/// How many of the best times the detailed engine finds, too.
std::string confirmation_text(const SearchAnswer& answer) {
  const auto looked_at = std::ranges::count_if(
      answer.detailed, [](const auto& seconds) { return seconds.has_value(); });
  std::ptrdiff_t agreed = 0;
  for (std::size_t i = 0; i < answer.detailed.size(); ++i) {
    agreed += answer.detailed[i] && agrees(answer.result.plans[i], *answer.detailed[i]) ? 1 : 0;
  }
  if (looked_at == 0) return {};
  return fmt::format("  seconds confirmed by the event queue: {} of {}\n", agreed, looked_at);
}

/// Returns the savings of the best plan by 10 % more of each resource, the next bottleneck first.
std::string gains_text(const std::vector<Gain>& gains, std::size_t width) {
  if (gains.empty()) return {};  // a search that was stopped
  const auto plan_of = [](const Gain& gain) {
    return gain.plan ? " (" + layout_text(*gain.plan) + " would fit)" : std::string();
  };
  std::string others;
  for (std::size_t i = 1; i < gains.size(); ++i) {
    others += fmt::format("{}{} {:.1f}{}", i > 1 ? ", " : "", gains[i].resource,
                          100 * gains[i].saved, plan_of(gains[i]));
  }
  const std::string next =
      fmt::format("next bottleneck of the best: {}; 10 % more of it saves {:.1f} %{}",
                  gains.front().resource, 100 * gains.front().saved, plan_of(gains.front()));
  return fmt::format("  {}\n    {}\n", wrapped(next, width, "    "),
                     wrapped("of others, in %: " + others, width - 4, "      "));
}

/// The probability that the best plan is among those to run first.
double odds_of(const SearchAnswer& answer, const std::vector<std::size_t>& ranks) {
  double sum = 0.0;
  for (const std::size_t rank : ranks) sum += answer.odds[rank].best;
  return sum;
}

/// Returns a rank as people count.
std::size_t one_more(std::size_t rank) {
  return rank + 1;
}

Json try_json(const SearchAnswer& answer) {
  const std::vector<std::size_t> to_try = answer.to_try(answer.options.try_first);
  return {{"ranks", list_json(to_try, one_more)}, {"probability", odds_of(answer, to_try)}};
}

/// Returns the peak that MFU is a share of, by the precision of products.
std::string peaks_text(const SearchAnswer& answer) {
  std::vector<std::string> peaks;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    std::string peak = fmt::format("{:.0f} TFLOP/s ({})", answer.best[i].peak.value / kTera,
                                   name(answer.result.plans[i].plan.precision));
    if (std::ranges::find(peaks, peak) == peaks.end()) peaks.push_back(std::move(peak));
  }
  return fmt::format("\n  TFLOP/s of the model, a GPU; MFU of a peak of {}\n",
                     fmt::join(peaks, " or "));
}

/// Returns the devices, time and cost of the whole training by this plan.
std::string training_text(const SearchAnswer& answer, const FoundPlan& found) {
  std::string text = fmt::format("{} GPUs, {:.1f} days, {:.0f} GPU-hours", found.plan.gpus,
                                 *answer.training_seconds(found) / kDay, *answer.gpu_hours(found));
  if (const auto cost = answer.cost(found)) text += fmt::format(", cost {:.0f}", *cost);
  if (const auto energy = answer.energy(found)) text += fmt::format(", {:.0f} MWh", *energy);
  return text + ": " + shape_text(found.shape, answer.inputs.model) + layout_text(found.plan);
}

std::string deadline_text(const SearchAnswer& answer, std::size_t width) {
  if (!answer.fewest_gpus || !answer.cheapest) return {};
  const auto line = [&](const char* what, const FoundPlan& found) {
    return "  " + wrapped(what + training_text(answer, found), width - 2, "    ") + "\n";
  };
  std::string text = fmt::format("\nWithin {:.4g} days:\n", *answer.options.within / kDay) +
                     line("fewest GPUs: ", *answer.fewest_gpus);
  if (answer.surely_in_time) {
    const std::string what =
        fmt::format("with {:.0f} % of time to spare: ", 100 * answer.stated_error());
    text += line(what.c_str(), *answer.surely_in_time);
  }
  return text + line("cheapest: ", *answer.cheapest);
}

Json training_json(const SearchAnswer& answer, const FoundPlan& found) {
  Json json{{"gpus", found.plan.gpus},
            {"sec_per_iter", found.sec_per_iter},
            {"days", *answer.training_seconds(found) / kDay},
            {"gpu_hours", *answer.gpu_hours(found)}};
  set_json(json, "cost", answer.cost(found));
  set_json(json, "energy_mwh", answer.energy(found));
  json["plan"] = plan_json(found.plan);
  return json;
}

Json gains_json(const std::vector<Gain>& gains) {
  return list_json(gains, [](const Gain& gain) {
    Json json{{"resource", gain.resource}, {"saved", gain.saved}};
    if (gain.plan) json["plan"] = plan_json(*gain.plan);
    return json;
  });
}

}  // namespace

bool SearchAnswer::is_tie(std::size_t rank) const {
  const double least = result.plans.front().value;
  if (rank == 0) return false;
  const double error = 1 + stated_error();
  const FoundPlan& first = result.plans.front();
  const FoundPlan& found = result.plans[rank];
  if (!options.fewest_gpus) return found.value <= least * error;
  return found.plan.gpus == first.plan.gpus && found.sec_per_iter <= first.sec_per_iter * error;
}

double SearchAnswer::stated_error() const {
  return best.empty() ? inputs.software.relative_error : best.front().relative_error;
}

double tokens_per_gpu(const FoundPlan& found) {
  return tokens_of_step(found.plan) / (found.sec_per_iter * real(found.plan.gpus));
}

double SearchAnswer::price() const {
  return options.prices.empty() ? options.price : options.prices.begin()->second;
}

std::optional<double> SearchAnswer::training_seconds(const FoundPlan& found) const {
  if (!options.tokens) return std::nullopt;
  return *options.tokens / (tokens_per_gpu(found) * real(found.plan.gpus));
}

std::optional<double> SearchAnswer::gpu_hours(const FoundPlan& found) const {
  const auto all = training_seconds(found);
  return all ? std::optional(*all * real(found.plan.gpus) / kHour) : std::nullopt;
}

std::optional<double> SearchAnswer::cost(const FoundPlan& found) const {
  const auto hours = gpu_hours(found);
  return hours && price() > 0 ? std::optional(*hours * price()) : std::nullopt;
}

std::optional<double> SearchAnswer::energy(const FoundPlan& found) const {
  constexpr double kMega = 1e6;
  const auto hours = gpu_hours(found);
  const double power = inputs.device.power;
  return hours && power > 0 ? std::optional(*hours * power / kMega) : std::nullopt;
}

bool SearchAnswer::has_shapes() const {
  return std::ranges::any_of(
      result.plans, [&](const FoundPlan& found) { return found.shape != shape_of(inputs.model); });
}

std::string no_plan_text(const SearchAnswer& answer, std::size_t width) {
  const SearchResult& result = answer.result;
  if (result.interrupted) return "Interrupted before a plan was found.\n";
  std::string text;
  if (result.considered > 0 && result.legal == 0) {
    text = "No plan is legal. The nearest:\n";
    if (result.refused.empty()) {
      text =
          "No plan is legal: no product of tp and pp divides the GPUs with a dp x mbs that divides "
          "the global batch. Allow other --nodes, --gbs, --dp, --tp, --pp or --mbs.\n";
    }
    text += refusals_text(answer, width);
  } else if (result.required == 0) {
    text = fmt::format("None of {} legal plans meets all of", result.legal);
    for (const std::string& requirement : answer.options.requirements) {
      text += " --require '" + requirement + "'";
    }
    text += ". Relax one of them.\n";
  } else if (result.fitting > 0) {
    text = fmt::format("None of {} plans that fit", result.fitting);
    if (answer.options.within) {
      text += fmt::format(" is in time, within {:.4g} days", *answer.options.within / kDay);
    }
    if (answer.options.risk) {
      text += fmt::format("{} fits with a probability of {:.0f} %",
                          answer.options.within ? ", and" : "", 100 * *answer.options.risk);
    }
    text += ".\n";
  } else {
    text = fmt::format(
        "None of {} plans fits into {} GiB{}. The nearest:\n", result.required,
        gib_text(answer.inputs.device.memory),
        answer.options.memory_headroom > 0
            ? fmt::format(" less a head-room of {:.0f} %", 100 * answer.options.memory_headroom)
            : "");
    for (const TooLarge& miss : result.nearest_misses) {
      text += fmt::format("  {}{}: {} GiB\n", shape_text(miss.shape, answer.inputs.model),
                          layout_text(miss.plan), gib_text(miss.needed));
    }
    if (answer.relaxations.empty()) {
      text +=
          "More nodes, a larger tp or pp, recompute full, ZeRO or offload would make room, where "
          "the stack has them.\n";
    }
  }
  return text + relaxations_text(answer);
}

namespace {

/// How many plans are not shown since they hardly differ from those that are.
std::string folded_text(const SearchAnswer& answer) {
  std::size_t folded = 0;
  for (std::size_t i = 0; i < std::min(answer.best.size(), answer.folded.size()); ++i) {
    folded += answer.folded[i];
  }
  if (folded == 0) return {};
  return fmt::format(
      "  {} more plans are within 1 % of these and differ in layout string, chunks or recomputed "
      "modules only: --unfold\n",
      folded);
}

/// Returns the gain of plans that fit less surely.
std::string risky_text(const SearchAnswer& answer, std::size_t width) {
  if (!answer.risky) return {};
  const RiskyPlan& risky = *answer.risky;
  return "  " +
         wrapped(fmt::format("riskier: {} would be {:.1f} % faster and fits with a probability of "
                             "{:.0f} % (--risk 0 ranks such plans)",
                             layout_text(risky.found.plan), 100 * risky.gain,
                             100 * risky.fits_probability),
                 width - 2, "    ") +
         "\n";
}

std::string recommendation_text(const SearchAnswer& answer, std::size_t width) {
  if (!answer.recommendation) return {};
  return "\n" + wrapped(answer.recommendation->text, width, "  ") + "\n";
}

Json recommendation_json(const SearchAnswer& answer) {
  const Recommendation& what = *answer.recommendation;
  const auto plan = [&](std::size_t rank) { return plan_json(answer.result.plans[rank].plan); };
  return {{"plan", plan_json(what.plan.plan)},
          {"fallback", optional_json(what.fallback, plan)},
          {"measure", list_json(what.measure, one_more)},
          {"text", what.text}};
}

Json risky_json(const RiskyPlan& risky) {
  return {{"plan", plan_json(risky.found.plan)},
          {"gain", risky.gain},
          {"sec_per_iter", risky.found.sec_per_iter},
          {"peak_gib", gib(risky.found.peak_memory)},
          {"fits_probability", risky.fits_probability}};
}

/// Returns the member `pareto` of the document: rank, time, memory and plan of each.
Json pareto_json(const SearchResult& result) {
  return list_json(pareto_front(result.plans), [&](std::size_t place) {
    const FoundPlan& found = result.plans[place];
    Json json{{"sec_per_iter", found.sec_per_iter},
              {"memory", {{"peak_gib", gib(found.peak_memory)}}},
              {"model_shape", shape_json(found.shape)},
              {"plan", plan_json(found.plan)}};
    if (place < result.ranked) json["rank"] = place + 1;
    return json;
  });
}

/// Returns a table of the plans that no other beats in time, memory and nodes at once.
std::string pareto_text(const SearchAnswer& answer, const Terminal& terminal) {
  const SearchResult& result = answer.result;
  std::vector<const Plan*> plans;
  for (const std::size_t place : pareto_front(result.plans)) {
    plans.push_back(&result.plans[place].plan);
  }
  return fmt::format(
             "\nPareto front: {} of {} plans that no other beats in time, memory and nodes "
             "at once\n",
             plans.size(), result.fitting) +
         plan_table(pareto_json(result), plans, answer.inputs, answer.has_shapes(), terminal.width);
}

}  // namespace

Json found_json(const SearchAnswer& answer, std::size_t i) {
  const FoundPlan& found = answer.result.plans[i];
  Json plan{{"rank", i + 1},
            {"tie_with_best", answer.is_tie(i)},
            {"sec_per_iter", found.sec_per_iter},
            {"tokens_per_sec_per_gpu", tokens_per_gpu(found)}};
  plan.update(rates_json(answer.best[i], found.plan));
  plan.update({{"memory",
                {{"peak_gib", gib(found.peak_memory)},
                 {"capacity_gib", gib(answer.inputs.device.memory)},
                 {"headroom", headroom(answer.inputs, found.peak_memory)},
                 {"fits", true},
                 {"verdict", name(found.verdict)}}},
               {"breakdown_s", breakdown_json(answer.best[i].breakdown)},
               {"model_shape", sized_json(answer.inputs, found.shape)},
               {"plan", plan_json(found.plan)}});
  if (i < answer.detailed.size()) set_json(plan, "detailed_sec_per_iter", answer.detailed[i]);
  if (i < answer.intervals.size()) {
    plan["interval"] = interval_json(answer.intervals[i]);
    if (i < answer.odds.size()) {
      plan["odds_best"] = answer.odds[i].best;
      plan["expected_loss"] = answer.odds[i].expected_loss;
    }
    plan["fits_probability"] = answer.intervals[i].fits_probability;
  }
  if (i < answer.families.size()) {
    plan["family"] = answer.families[i];
    plan["folded"] = answer.folded[i];
  }
  if (i < answer.gains.size() && !answer.gains[i].empty()) {
    const std::vector<Gain>& gains = answer.gains[i];
    plan["next_bottleneck"] = {{"resource", gains.front().resource},
                               {"saved_by_10_percent_more", gains.front().saved}};
    plan["gains_of_10_percent_more"] = gains_json(gains);
  }
  if (const auto seconds = answer.training_seconds(found)) plan["days"] = *seconds / kDay;
  set_json(plan, "gpu_hours", answer.gpu_hours(found));
  set_json(plan, "cost", answer.cost(found));
  set_json(plan, "energy_mwh", answer.energy(found));
  return plan;
}

std::string search_text(const SearchAnswer& answer, const Terminal& terminal) {
  const SearchInputs& inputs = answer.inputs;
  std::string text = inked(terminal, Ink::bold,
                           fmt::format("{} on {} ({}), {}", inputs.model.name, inputs.cluster.name,
                                       inputs.device.name, inputs.software.name));
  text += "\n" + counts(answer);
  if (!answer.shapes.shapes.empty()) text += shape_choice_text(answer.shapes) + "\n";
  text += "\n";
  if (answer.best.empty()) {
    return text + no_plan_text(answer, terminal.at_most(100)) + explanations(answer, terminal);
  }
  Json records = Json::array();
  std::vector<const Plan*> plans;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    records.push_back(found_json(answer, i));
    plans.push_back(&answer.result.plans[i].plan);
  }
  text += plan_table(records, plans, inputs, answer.has_shapes(), terminal.at_most(120));
  text += peaks_text(answer);
  text += gains_text(answer.gains.front(), terminal.at_most(100));
  bool ties = false;
  for (std::size_t i = 0; i < answer.best.size(); ++i) ties = ties || answer.is_tie(i);
  if (ties) {
    text += fmt::format("  = within the error stated of the best (± {:.0f} %): a tie\n",
                        100 * answer.stated_error());
  }
  text += folded_text(answer);
  text += risky_text(answer, terminal.at_most(100));
  text += confirmation_text(answer);
  text += deadline_text(answer, terminal.at_most(100));
  if (!answer.reserved.empty()) {
    text += "\n" + reserved_plans_text(answer.reserved, answer.options, answer.maturity);
  }
  text += recommendation_text(answer, terminal.at_most(100));
  if (!answer.result.refused.empty()) {
    text += "\nNot legal:\n" + refusals_text(answer, terminal.at_most(100));
  }
  if (answer.options.pareto) text += pareto_text(answer, terminal);
  return text + explanations(answer, terminal);
}

Json search_json(const SearchAnswer& answer) {
  const SearchInputs& inputs = answer.inputs;
  const SearchResult& result = answer.result;
  Json plans = Json::array();
  for (std::size_t i = 0; i < answer.best.size(); ++i) plans.push_back(found_json(answer, i));
  Json misses = list_json(result.nearest_misses, [&](const TooLarge& miss) {
    return Json{{"needs_gib", gib(miss.needed)},
                {"model_shape", sized_json(inputs, miss.shape)},
                {"plan", plan_json(miss.plan)}};
  });
  Json relaxed = list_json(answer.relaxations, [&](const Relaxation& relaxation) {
    return Json{{"limit", flag_of(relaxation.limit)},
                {"given_up", relaxation.given_up},
                {"fitting", relaxation.fitting},
                {"sec_per_iter", relaxation.best.sec_per_iter},
                {"model_shape", sized_json(inputs, relaxation.best.shape)},
                {"plan", plan_json(relaxation.best.plan)}};
  });
  Json document{
      {"schema", "prequel/search/1"},
      {"considered", result.considered},
      {"legal", result.legal},
      {"required", result.required},
      {"fitting", result.fitting},
      {"seconds", answer.seconds},
      {"interrupted", result.interrupted},
      {"warnings", answer.notes},
      {"objective", answer.options.fewest_gpus ? "fewest-gpus" : answer.options.objective},
      {"error",
       {{"sec_per_iter", answer.stated_error()},
        {"basis",
         answer.best.empty() ? inputs.software.error_basis : answer.best.front().error_basis}}},
      {"model", inputs.model.name},
      {"cluster", inputs.cluster.name},
      {"device", inputs.device.name},
      {"software", inputs.software.name},
      {"plans", std::move(plans)},
      {"try", try_json(answer)},
      {"pareto", answer.options.try_first > 0 ? pareto_json(result) : Json::array()},
      {"nearest_misses", std::move(misses)},
      {"relaxations", std::move(relaxed)},
      {"refused", list_json(result.refused, refused_json)}};
  if (answer.recommendation) document["recommendation"] = recommendation_json(answer);
  if (answer.risky) document["risky"] = risky_json(*answer.risky);
  if (!answer.shapes.shapes.empty()) {
    document["shapes"] = {{"combinations", answer.shapes.combinations},
                          {"searched", answer.shapes.shapes.size()},
                          {"parameters", answer.shapes.parameters},
                          {"tolerance", answer.shapes.tolerance}};
  }
  for (const ExplainedLayout& explained : answer.explained) {
    document["explanations"].push_back(explanation_json(explained, answer.result, best_of(answer)));
  }
  if (!answer.reserved.empty()) document["reserved"] = reserved_plans_json(answer.reserved);
  if (answer.fewest_gpus && answer.cheapest) {
    document["within"] = {{"seconds", *answer.options.within},
                          {"fewest_gpus", training_json(answer, *answer.fewest_gpus)},
                          {"cheapest", training_json(answer, *answer.cheapest)}};
    if (answer.surely_in_time) {
      document["within"]["surely_in_time"] = training_json(answer, *answer.surely_in_time);
    }
  }
  if (answer.context) document["context"] = context_json(*answer.context);
  return document;
}

std::string search_csv(const SearchAnswer& answer) {
  std::vector<std::string> header{"rank", "layers", "hidden", "heads"};
  each_axis([&](const auto& axis) {
    header.emplace_back(axis.name);
    if (axis.name == "nodes") header.emplace_back("gpus");
  });
  const auto is_asked = [&](std::string_view column) {
    if (column == "cost" && !(answer.price() > 0)) return false;
    return answer.options.tokens || (column != "gpu_hours" && column != "cost");
  };
  for (const auto& [column, member] : kAnswerColumns) {
    if (is_asked(column)) header.emplace_back(column);
  }
  std::string text = fmt::format("{}\n", fmt::join(header, ","));
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const Plan& plan = answer.result.plans[i].plan;
    const Json record = found_json(answer, i);
    std::vector<std::string> row{record["rank"].dump()};
    for (const char* size : {"layers", "hidden", "heads"}) {
      row.push_back(record["model_shape"][size].dump());
    }
    each_axis([&](const auto& axis) {
      row.push_back(csv_quoted(cell_of(axis.of(plan))));
      if (axis.name == "nodes") row.push_back(cell_of(plan.gpus));
    });
    for (const auto& [column, member] : kAnswerColumns) {
      if (!is_asked(column)) continue;
      const Json& value = record.at(Json::json_pointer(member));
      row.push_back(value.is_string() ? value.get<std::string>()
                                      : fmt::format("{:.6g}", value.get<double>()));
    }
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

}  // namespace prequel
