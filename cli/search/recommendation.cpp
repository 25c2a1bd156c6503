#include "cli/search/recommendation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/search/search_answer.hpp"
#include "cli/text/layout_text.hpp"

namespace prequel {
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

std::vector<std::size_t> to_measure(const SearchAnswer& answer) {
  std::vector<std::size_t> ranks = answer.to_try(2);
  if (ranks.size() < 2) return {};
  const double first = answer.odds[ranks[0]].best, second = answer.odds[ranks[1]].best;
  if (first > kClearlyAhead * second) return {};
  std::ranges::sort(ranks);
  return ranks;
}

std::string text_of(const SearchAnswer& answer, const Recommendation& what) {
  const auto gib = [](const FoundPlan& found) { return found.peak_memory.value / kGiB; };
  const auto& plans = answer.result.plans;
  const FoundPlan& best = plans[what.plan];
  std::string text = fmt::format(
      "Take rank 1, {}: {:.2f} s ± {:.0f} %, {:.1f} of {:.1f} GiB, and it fits with a probability "
      "of "
      "{:.0f} %.",
      layout_text(best.plan), best.sec_per_iter, 100 * answer.stated_error(), gib(best),
      answer.inputs.device.memory.value / kGiB, 100 * answer.intervals[what.plan].fits_probability);
  if (what.fallback) {
    const FoundPlan& other = plans[*what.fallback];
    text +=
        fmt::format(" If it runs out of memory, take rank {}, {}: {:.2f} s, {:.1f} GiB.",
                    *what.fallback + 1, layout_text(other.plan), other.sec_per_iter, gib(other));
  } else {
    text += " None of the others needs less memory.";
  }
  if (what.measure.size() == 2) {
    text += fmt::format(
        " Measure ranks {} and {} on a few nodes: the prediction cannot tell which is faster.",
        what.measure[0] + 1, what.measure[1] + 1);
  } else {
    text += " None of the others is likely to be faster.";
  }
  return text;
}

}  // namespace

std::optional<Recommendation> recommend(const SearchAnswer& answer) {
  if (answer.best.empty() || answer.odds.empty()) return std::nullopt;
  Recommendation what;
  what.fallback = fallback_of(answer);
  what.measure = to_measure(answer);
  what.text = text_of(answer, what);
  return what;
}

}  // namespace prequel
