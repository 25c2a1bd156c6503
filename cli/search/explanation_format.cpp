#include "cli/search/explanation_format.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/flags/value_lists.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

/// Returns the rules that the nearest plan of the layout breaks.
std::string refusals(const Explanation& answer, std::size_t width) {
  const RefusedPlan& nearest = answer.refused.front();
  std::string text = "illegal\n  " + layout_text(nearest.request) + "\n";
  for (const std::string& problem : nearest.problems) {
    text += "    " + wrapped(problem, width, "      ") + "\n";
  }
  return text;
}

constexpr double kLeastShown = 0.005;  // s: what two digits show

/// Where two plans spend their time, and what is between them.
std::string difference_table(const Breakdown& plan, const Breakdown& best) {
  TextTable table({"s", "it", "the best", "difference"});
  const auto add = [&](const std::string& label, double is, double was) {
    table.row(label, fixed(is, 2), fixed(was, 2), signed_fixed(is - was, 2));
  };
  for (const TimePart& part : kTimeParts) {
    const double is = plan.*part.seconds, was = best.*part.seconds;
    if (is >= kLeastShown || was >= kLeastShown) add(spaced(part.key), is, was);
  }
  add("total", plan.total(), best.total());
  return table.text(0, "    ");
}

/// The plan, and the shape that it is for where several were searched.
std::string layout(const Explanation& answer, const SearchResult& found) {
  const bool one_shape = std::ranges::all_of(
      found.plans, [&](const FoundPlan& plan) { return plan.shape == answer.shape; });
  return (one_shape ? "" : shape_text(answer.shape)) + layout_text(*answer.plan);
}

std::string place(const Explanation& answer, const SearchResult& found) {
  if (found.plans.empty()) return "it fits, though it was not searched";
  const double behind = 100 * (answer.value / found.plans.front().value - 1);
  const std::string unsearched = answer.searched ? "" : ", though it was not searched";
  if (behind < 0) return fmt::format("{:.1f} % better than the best{}", -behind, unsearched);
  if (answer.rank == 1) return "it is the best" + unsearched;
  const std::string rank = answer.rank == 0
                               ? fmt::format("behind the first {}", found.ranked)
                               : fmt::format("rank {} of {}", answer.rank, found.fitting);
  return fmt::format("{}{}; {:.1f} % behind the best", rank, unsearched, behind);
}

}  // namespace

std::string explanation_text(const ExplainedLayout& explained, const SearchResult& found,
                             const Prediction* best, const Terminal& terminal) {
  const Explanation& answer = explained.answer;
  std::string text = "Why not " + inked(terminal, Ink::bold, explained.question) + ": ";
  switch (answer.verdict) {
    case LayoutVerdict::illegal: return text + refusals(answer, terminal.at_most(100));
    case LayoutVerdict::excluded:
      return text + fmt::format("legal, but not what --require '{}' asks for\n",
                                fmt::join(answer.unmet, "' and '"));
    case LayoutVerdict::oom:
      return text +
             fmt::format(
                 "out of memory\n  {}\n  {} GiB on stage {} of {}, {} GiB more than the {} GiB "
                 "that there are\n",
                 layout(answer, found), gib_text(answer.needed), answer.predicted->fullest_stage,
                 answer.predicted->stages.size(), gib_text(answer.needed - answer.room),
                 gib_text(answer.room));
    case LayoutVerdict::ranked: break;
  }
  text += place(answer, found) + "\n  " + layout(answer, found) + "\n";
  if (best && !(answer.rank == 1 && answer.searched)) {
    text += difference_table(answer.predicted->breakdown, best->breakdown);
  }
  return text;
}

Json refused_json(const RefusedPlan& refused) {
  return {{"plan", layout_text(refused.request)}, {"problems", refused.problems}};
}

Json explanation_json(const ExplainedLayout& explained, const SearchResult& found,
                      const Prediction* best) {
  const Explanation& answer = explained.answer;
  Json json{{"layout", explained.question}, {"verdict", name(answer.verdict)}};
  switch (answer.verdict) {
    case LayoutVerdict::illegal:
      json["refused"] = list_json(answer.refused, refused_json);
      return json;
    case LayoutVerdict::excluded: json["requirements"] = answer.unmet; return json;
    case LayoutVerdict::oom:
      json["memory"] = {{"needs_gib", gib(answer.needed)},
                        {"available_gib", gib(answer.room)},
                        {"excess_gib", gib(answer.needed - answer.room)},
                        {"stage", answer.predicted->fullest_stage}};
      break;
    case LayoutVerdict::ranked:
      if (answer.rank > 0) json["rank"] = answer.rank;
      json["of"] = found.fitting;
      json["searched"] = answer.searched;
      json["sec_per_iter"] = answer.predicted->sec_per_iter.value;
      json["breakdown_s"] = breakdown_json(answer.predicted->breakdown);
      if (best) {
        json["behind_best"] = answer.value / found.plans.front().value - 1;
        for (const TimePart& part : kTimeParts) {
          json["difference_s"][part.key] =
              answer.predicted->breakdown.*part.seconds - best->breakdown.*part.seconds;
        }
      }
  }
  json["model_shape"] = shape_json(answer.shape);
  json["plan"] = plan_json(*answer.plan);
  return json;
}

}  // namespace prequel
