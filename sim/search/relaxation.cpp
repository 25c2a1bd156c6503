#include "sim/search/relaxation.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kFineNodes = 8;  // from which on not every number is tried

constexpr double kNoEnd = 1e9;  // seconds

class Relaxer {
 public:
  Relaxer(const SearchInputs& inputs, const SearchLimits& limits, Reach reach,
          const SearchWatch& watch, double seconds)
      : inputs_(inputs),
        limits_(limits),
        reach_(reach),
        watch_(watch.unheard()),
        end_(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)) {
    limits_.best = 1;
    limits_.front = false;
  }

  void without_limits(const Candidates& candidates) {
    for (std::size_t i = 0; i < limits_.requirements.size(); ++i) {
      SearchLimits fewer = limits_;
      fewer.requirements.erase(fewer.requirements.begin() + static_cast<std::ptrdiff_t>(i));
      give_up("require '" + limits_.requirements[i].text() + "'", candidates, fewer);
    }
    if (limits_.memory_headroom > 0) {
      SearchLimits fuller = limits_;
      fuller.memory_headroom = 0;
      give_up("memory_headroom", candidates, fuller);
    }
    if (limits_.least_rate > 0) {
      SearchLimits longer = limits_;
      longer.least_rate = 0;
      give_up("within", candidates, longer);
    }
  }

  /// Without what is said of an axis.
  template <class Axis>
  void without(const Axis& axis, SearchAxes said) {
    if (is_late() || axis.of(said).empty()) return;
    axis.of(said).clear();
    give_up(std::string(axis.name), plans_of(said), limits_);
  }

  /// With all values of an axis of which the stack offers a few.
  template <class Axis>
  void with_all(const Axis& axis, const SearchAxes& said) {
    SearchAxes axes = fill_axes(said, inputs_, reach_);
    SearchAxes all = fill_axes(said, inputs_, Reach::everything);
    all.layout = {std::string(kAutoLayout)};
    if (axis.name != "layout") leave_layouts(said, axes);
    if (is_late() || !axis.of(said).empty() || axis.of(axes) == axis.of(all)) return;
    axis.of(axes) = axis.of(all);
    const auto best = best_of(legal_plans(axes, inputs_, watch_), limits_);
    if (!best) return;
    std::string value = cell_of(axis.of(best->best.plan));
    if (axis.name == "layout") value = kAutoLayout;
    found_.push_back({std::string(axis.name) + " " + value, false, best->fitting, best->best});
  }

  /// The fewest nodes with which something fits: by leaps that double, and then one by one.
  void more_nodes(SearchAxes axes) {
    std::vector<std::int64_t> counts;
    for (std::int64_t nodes = axes.nodes.back() + 1; nodes <= inputs_.cluster.nodes;
         nodes += 1 + nodes / kFineNodes) {
      counts.push_back(nodes);
    }
    const auto fitting = [&](std::size_t i) -> std::optional<Relaxation> {
      if (is_late()) return std::nullopt;
      axes.nodes = {counts[i]};
      auto best = best_of(plans_of(axes), limits_);
      if (best) best->limit = fmt::format("nodes {}", counts[i]);
      return best;
    };
    std::size_t first = 0;  // not tried yet
    for (std::size_t leap = 0; leap < counts.size(); leap = 2 * leap + 1) {
      auto found = fitting(leap);
      if (!found) {
        first = leap + 1;
        continue;
      }
      for (std::size_t i = first; i < leap; ++i) {
        if (auto earlier = fitting(i)) return found_.push_back(std::move(*earlier));
      }
      return found_.push_back(std::move(*found));
    }
    for (std::size_t i = first; i < counts.size(); ++i) {
      if (auto found = fitting(i)) return found_.push_back(std::move(*found));
    }
  }

  [[nodiscard]] Candidates plans_of(const SearchAxes& said) const {
    SearchAxes axes = fill_axes(said, inputs_, reach_);
    leave_layouts(said, axes);
    return legal_plans(axes, inputs_, watch_);
  }

  std::vector<Relaxation> result() && { return std::move(found_); }

 private:
  /// Leaves out layouts by hand that nobody asked for: they multiply the plans several times.
  static void leave_layouts(const SearchAxes& said, SearchAxes& axes) {
    if (said.layout.empty()) axes.layout = {std::string()};
  }

  [[nodiscard]] bool is_late() const {
    return watch_.is_stopped() || std::chrono::steady_clock::now() > end_;
  }

  void give_up(std::string limit, const Candidates& candidates, const SearchLimits& limits) {
    auto best = best_of(candidates, limits);
    if (!best) return;
    best->limit = std::move(limit);
    best->given_up = true;
    found_.push_back(std::move(*best));
  }

  /// Returns the best of what then fits; the caller states its limit.
  [[nodiscard]] std::optional<Relaxation> best_of(const Candidates& candidates,
                                                  const SearchLimits& limits) const {
    if (watch_.is_stopped()) return std::nullopt;
    try {
      const SearchResult result = search(candidates, inputs_, limits, watch_);
      if (result.interrupted || result.plans.empty()) return std::nullopt;
      return Relaxation{{}, false, result.fitting, result.plans.front()};
    } catch (const InputError&) {
      return std::nullopt;  // a requirement divides by zero for plans that were not asked for
    }
  }

  const SearchInputs& inputs_;
  SearchLimits limits_;
  Reach reach_;
  SearchWatch watch_;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
  std::vector<Relaxation> found_;
};

}  // namespace

std::vector<Relaxation> relaxations(const SearchAxes& said, const SearchInputs& inputs,
                                    const SearchLimits& limits, Reach reach,
                                    const SearchWatch& watch, double seconds) {
  Relaxer relaxer(inputs, limits, reach, watch, seconds);
  relaxer.without_limits(relaxer.plans_of(said));
  each_axis([&](const auto& axis) {
    if (is_searched(axis.use)) relaxer.without(axis, said);
  });
  relaxer.more_nodes(said);
  each_axis([&](const auto& axis) {
    if (is_searched(axis.use)) relaxer.with_all(axis, said);
  });
  return std::move(relaxer).result();
}

std::vector<Relaxation> relaxations(const Candidates& candidates, const SearchInputs& inputs,
                                    const SearchLimits& limits, const SearchWatch& watch) {
  Relaxer relaxer(inputs, limits, Reach::usual, watch, kNoEnd);
  relaxer.without_limits(candidates);
  return std::move(relaxer).result();
}

}  // namespace prequel
