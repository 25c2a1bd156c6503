#include "cli/search/search_format.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/flags/flags.hpp"
#include "cli/json/interval_json.hpp"
#include "cli/json/plan_json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/search/pareto_format.hpp"
#include "cli/search/plan_columns.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/unit_text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/layers/parameters.hpp"
#include "sim/search/confirmation.hpp"

namespace prequel {
namespace {

constexpr std::size_t kRefused = 20;  // plans of a table that are told why

using Json = nlohmann::ordered_json;

double headroom(const SearchInputs& inputs, Bytes memory) {
  return 1.0 - memory / inputs.device.memory;
}

double exposed(const Breakdown& parts) {
  return parts.tp_comm + parts.cp_comm + parts.ep_comm + parts.pp_comm + parts.dp_comm +
         parts.offload;
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

/// What is wrong with plans that no rule allows; of many, of the first.
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

Json shape_json(const SearchInputs& inputs, const ModelShape& shape) {
  return {{"layers", shape.layers},
          {"hidden", shape.hidden},
          {"heads", shape.heads},
          {"parameters", total_parameters(reshaped(inputs.model, shape))}};
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

/// What 10 % more of each resource would save of the best plan, the next bottleneck first.
std::string gains_text(const std::vector<Gain>& gains, std::size_t width) {
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
  return fmt::format("  {}\n    of others, in %: {}\n", wrapped(next, width, "    "),
                     wrapped(others, width, "      "));
}

/// The probability that the best plan is among those to run first.
double odds_of(const SearchAnswer& answer, const std::vector<std::size_t>& ranks) {
  double sum = 0.0;
  for (const std::size_t rank : ranks) sum += answer.odds[rank].best;
  return sum;
}

Json try_json(const SearchAnswer& answer) {
  const std::vector<std::size_t> to_try = answer.to_try();
  Json ranks = Json::array();
  for (const std::size_t rank : to_try) ranks.push_back(rank + 1);
  return {{"ranks", ranks}, {"probability", odds_of(answer, to_try)}};
}

std::string try_text(const SearchAnswer& answer, std::size_t width) {
  const std::vector<std::size_t> to_try = answer.to_try();
  if (answer.odds.size() < 2) return {};
  std::string ranks;
  for (const std::size_t rank : to_try) {
    ranks +=
        fmt::format("{}{} ({:.0f} %, expected loss {:.1f} %)", ranks.empty() ? "" : ", ", rank + 1,
                    100 * answer.odds[rank].best, 100 * answer.odds[rank].expected_loss);
  }
  return "  " +
         wrapped(fmt::format("try first: {}; the best of the first {} is among them with {:.0f} %",
                             ranks, answer.odds.size(), 100 * odds_of(answer, to_try)),
                 width - 2, "    ") +
         "\n";
}

/// What MFU is a share of, by the precision of products.
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

std::vector<const Plan*> plans_of(const SearchAnswer& answer) {
  std::vector<const Plan*> plans;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    plans.push_back(&answer.result.plans[i].plan);
  }
  return plans;
}

/// What the whole training takes by this plan.
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
  return fmt::format("\nWithin {:.4g} days:\n", *answer.options.within / kDay) +
         line("fewest GPUs: ", *answer.fewest_gpus) + line("cheapest: ", *answer.cheapest);
}

Json training_json(const SearchAnswer& answer, const FoundPlan& found) {
  Json json{{"gpus", found.plan.gpus},
            {"sec_per_iter", found.sec_per_iter},
            {"days", *answer.training_seconds(found) / kDay},
            {"gpu_hours", *answer.gpu_hours(found)}};
  if (const auto cost = answer.cost(found)) json["cost"] = *cost;
  if (const auto energy = answer.energy(found)) json["energy_mwh"] = *energy;
  json["plan"] = plan_json(found.plan);
  return json;
}

Json gains_json(const std::vector<Gain>& gains) {
  Json all = Json::array();
  for (const Gain& gain : gains) {
    all.push_back({{"resource", gain.resource}, {"saved", gain.saved}});
    if (gain.plan) all.back()["plan"] = plan_json(*gain.plan);
  }
  return all;
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
  return real(found.plan.gbs * found.plan.seq_len) / (found.sec_per_iter * real(found.plan.gpus));
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
                          layout_text(miss.plan), gib_text(miss.allocated));
    }
    if (answer.relaxations.empty()) {
      text +=
          "More nodes, a larger tp or pp, recompute full, ZeRO or offload would make room, where "
          "the stack has them.\n";
    }
  }
  return text + relaxations_text(answer);
}

std::string verdict_text(const SearchAnswer& answer, std::size_t rank) {
  constexpr double kSure = 0.95;
  std::string text(name(answer.result.plans[rank].verdict));
  if (rank >= answer.intervals.size()) return text;
  const double odds = answer.intervals[rank].fits_probability;
  return odds < kSure ? fmt::format("{} ({:.0f} %)", text, 100 * odds) : text;
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
  std::vector<std::string> header{"rank",     "nodes",    "dp",     "tp",    "pp",
                                  "vpp",      "mbs",      "gbs",    "zero",  "recompute",
                                  "schedule", "sec/it",   "TFLOPs", "MFU %", "GiB",
                                  "free %",   "bubble %", "comm %", "memory"};
  const bool priced = answer.options.tokens && answer.price() > 0;
  if (priced) header.insert(header.begin() + 12, "cost");
  if (answer.options.tokens) header.insert(header.begin() + 12, "GPU-hours");
  const std::vector<ColumnOfAxis> others = further_columns(plans_of(answer), inputs);
  for (const ColumnOfAxis& column : others) header.push_back(column.name);
  const bool shaped = answer.has_shapes();
  if (shaped) header.insert(header.begin() + 1, {"layers", "hidden", "heads"});
  TextTable table(header);
  bool ties = false;
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const FoundPlan& found = answer.result.plans[i];
    const Prediction& prediction = answer.best[i];
    const Plan& plan = found.plan;
    const double step = found.sec_per_iter;
    const double rate = prediction.model_flops_rate(plan);
    ties |= answer.is_tie(i);
    std::vector<std::string> row{
        fmt::format("{}{}", i + 1, answer.is_tie(i) ? " =" : ""),
        fmt::format("{}", plan.nodes),
        fmt::format("{}", plan.dp),
        fmt::format("{}", plan.tp),
        fmt::format("{}", plan.pp),
        fmt::format("{}", plan.vpp),
        fmt::format("{}", plan.mbs),
        fmt::format("{}", plan.gbs),
        fmt::format("{}", plan.zero),
        std::string(name(plan.recompute)) + (plan.sequence_parallel ? " sp" : ""),
        std::string(name(plan.schedule)),
        fmt::format("{:.2f}", step),
        fmt::format("{:.1f}", rate / kTera),
        fmt::format("{:.1f}", 100 * rate / prediction.peak.value),
        gib_text(found.peak_memory),
        fmt::format("{:.0f}", 100 * headroom(inputs, found.peak_memory)),
        fmt::format("{:.1f}", 100 * prediction.breakdown.bubble / step),
        fmt::format("{:.1f}", 100 * exposed(prediction.breakdown) / step),
        verdict_text(answer, i)};
    for (const auto& total : {answer.cost(found), answer.gpu_hours(found)}) {
      if (total) row.insert(row.begin() + 12, fmt::format("{:.0f}", *total));
    }
    for (const ColumnOfAxis& column : others) row.push_back(column.cells[i]);
    if (shaped) {
      const auto& [layers, hidden, heads] = found.shape;
      row.insert(row.begin() + 1,
                 {fmt::format("{}", layers), fmt::format("{}", hidden), fmt::format("{}", heads)});
    }
    table.add(std::move(row));
  }
  text += table.text(terminal.width);
  text += peaks_text(answer);
  text += gains_text(answer.gains.front(), terminal.at_most(100));
  if (ties) {
    text += fmt::format("  = within the error stated of the best (± {:.0f} %): a tie\n",
                        100 * answer.stated_error());
  }
  text += try_text(answer, terminal.at_most(100));
  text += confirmation_text(answer);
  text += deadline_text(answer, terminal.at_most(100));
  if (!answer.reserved.empty()) {
    text += "\n" + reserved_plans_text(answer.reserved, answer.options, answer.maturity);
  }
  if (!answer.result.refused.empty()) {
    text += "\nNot legal:\n" + refusals_text(answer, terminal.at_most(100));
  }
  if (answer.options.pareto) text += "\n" + pareto_text(answer.result, inputs, shaped, terminal);
  return text + explanations(answer, terminal);
}

std::string search_json(const SearchAnswer& answer) {
  const SearchInputs& inputs = answer.inputs;
  const SearchResult& result = answer.result;
  Json plans = Json::array();
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const FoundPlan& found = result.plans[i];
    const Prediction& prediction = answer.best[i];
    const double model_rate = prediction.model_flops_rate(found.plan);
    const double hardware_rate = prediction.hardware_flops_rate(found.plan);
    Json plan{
        {"rank", i + 1},
        {"tie_with_best", answer.is_tie(i)},
        {"sec_per_iter", found.sec_per_iter},
        {"tokens_per_sec_per_gpu", tokens_per_gpu(found)},
        {"tflops_per_gpu", {{"model", model_rate / kTera}, {"hardware", hardware_rate / kTera}}},
        {"mfu", model_rate / prediction.peak.value},
        {"hfu", hardware_rate / prediction.peak.value},
        {"memory",
         {{"peak_gib", found.peak_memory.value / kGiB},
          {"capacity_gib", inputs.device.memory.value / kGiB},
          {"headroom", headroom(inputs, found.peak_memory)},
          {"fits", true},
          {"verdict", name(found.verdict)}}},
        {"breakdown_s", breakdown_json(prediction.breakdown)},
        {"model_shape", shape_json(inputs, found.shape)},
        {"plan", plan_json(found.plan)}};
    if (i < answer.detailed.size() && answer.detailed[i]) {
      plan["detailed_sec_per_iter"] = *answer.detailed[i];
    }
    if (i < answer.intervals.size()) {
      plan["interval"] = interval_json(answer.intervals[i]);
      plan["odds_best"] = answer.odds[i].best;
      plan["expected_loss"] = answer.odds[i].expected_loss;
      plan["fits_probability"] = answer.intervals[i].fits_probability;
    }
    const std::vector<Gain>& gains = answer.gains[i];
    plan["next_bottleneck"] = {{"resource", gains.front().resource},
                               {"saved_by_10_percent_more", gains.front().saved}};
    plan["gains_of_10_percent_more"] = gains_json(gains);
    if (const auto seconds = answer.training_seconds(found)) plan["days"] = *seconds / kDay;
    if (const auto hours = answer.gpu_hours(found)) plan["gpu_hours"] = *hours;
    if (const auto sum = answer.cost(found)) plan["cost"] = *sum;
    if (const auto energy = answer.energy(found)) plan["energy_mwh"] = *energy;
    plans.push_back(std::move(plan));
  }
  Json misses = Json::array();
  for (const TooLarge& miss : result.nearest_misses) {
    misses.push_back({{"needs_gib", miss.allocated.value / kGiB},
                      {"model_shape", shape_json(inputs, miss.shape)},
                      {"plan", plan_json(miss.plan)}});
  }
  Json relaxed = Json::array();
  for (const Relaxation& relaxation : answer.relaxations) {
    relaxed.push_back({{"limit", flag_of(relaxation.limit)},
                       {"given_up", relaxation.given_up},
                       {"fitting", relaxation.fitting},
                       {"sec_per_iter", relaxation.best.sec_per_iter},
                       {"model_shape", shape_json(inputs, relaxation.best.shape)},
                       {"plan", plan_json(relaxation.best.plan)}});
  }
  Json refused = Json::array();
  for (const RefusedPlan& plan : result.refused) {
    refused.push_back({{"plan", layout_text(plan.request)}, {"problems", plan.problems}});
  }
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
      {"pareto", pareto_json(result)},
      {"nearest_misses", std::move(misses)},
      {"relaxations", std::move(relaxed)},
      {"refused", std::move(refused)}};
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
  }
  if (answer.context) document["context"] = context_json(*answer.context);
  return document.dump(2) + "\n";
}

std::string search_csv(const SearchAnswer& answer) {
  std::vector<std::string> header{"rank", "layers", "hidden", "heads"};
  each_axis([&](const auto& axis) {
    header.emplace_back(axis.name);
    if (axis.name == "nodes") header.emplace_back("gpus");
  });
  for (const char* column : {"sec_per_iter", "tokens_per_sec_per_gpu", "mfu", "mem_gib", "verdict"})
    header.emplace_back(column);
  if (answer.options.tokens) header.emplace_back("gpu_hours");
  if (answer.options.tokens && answer.price() > 0) header.emplace_back("cost");
  std::string text = fmt::format("{}\n", fmt::join(header, ","));
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const FoundPlan& found = answer.result.plans[i];
    const Prediction& prediction = answer.best[i];
    const auto& [layers, hidden, heads] = found.shape;
    std::vector<std::string> row{cell_of(static_cast<std::int64_t>(i + 1)), cell_of(layers),
                                 cell_of(hidden), cell_of(heads)};
    each_axis([&](const auto& axis) {
      row.push_back(csv_quoted(cell_of(axis.of(found.plan))));
      if (axis.name == "nodes") row.push_back(cell_of(found.plan.gpus));
    });
    row.insert(row.end(),
               {number(found.sec_per_iter), number(tokens_per_gpu(found)),
                number(prediction.model_flops_rate(found.plan) / prediction.peak.value),
                number(found.peak_memory.value / kGiB), std::string(name(found.verdict))});
    for (const auto& total : {answer.gpu_hours(found), answer.cost(found)}) {
      if (total) row.push_back(number(*total));
    }
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

}  // namespace prequel
