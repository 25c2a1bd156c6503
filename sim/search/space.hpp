#pragma once

/// Which plans a search looks at.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/progress.hpp"
#include "sim/search/candidates.hpp"
#include "sim/search/searched_axes.hpp"

namespace prequel {

/// Tells and asks while it runs; all may be empty.
struct SearchWatch {
  Progress progress;  ///< of plans that are played
  const std::atomic<bool>* stop{};
  Progress combining{};  ///< of the parts of the space whose plans are combined before
  /// The best plan so far: seconds an iteration.
  std::function<void(double)> best{};

  /// From then on it is stopped, too.
  std::optional<std::chrono::steady_clock::time_point> until{};

  [[nodiscard]] bool is_stopped() const {
    return (stop && stop->load(std::memory_order_relaxed)) ||
           (until && std::chrono::steady_clock::now() > *until);
  }
  /// Stops with this one, but tells nobody of its progress.
  [[nodiscard]] SearchWatch unheard() const { return {{}, stop, {}, {}, until}; }
};

/// Fills empty axes with all that makes sense: the model's own shape, tp up to the ranks that
/// device links join (powers of two and a node's divisors), cp for long sequences, ep by the
/// experts, pp and vpp up to the layers, mbs in powers of two, dp from the nodes; the rest as the
/// software's choices say, or by `reach`. A schedule follows from chunks that are said, as in a
/// single plan.
SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, Reach reach);

/// Judges what all plans share, with the plainest values for the rest: its problems are those of
/// every plan.
PlanJudgement judge_shared(const SearchInputs& inputs, const SearchAxes& said);

/// All combinations that the rules of plans and schedules allow, in the order of the axes. Axes
/// without effect (vpp and schedule at pp 1, sequence parallelism at tp 1, ZeRO at dp 1,
/// dispatchers where ranks keep their tokens) take one value only, of those in the axis. HybridEP
/// stays inside the domain of device links, unless no other dispatcher is wanted. Returns a part of
/// the space where it is stopped.
Candidates legal_plans(const SearchAxes& axes, const SearchInputs& inputs,
                       const SearchWatch& watch = {});

/// A value that was asked for and that no legal plan has.
struct UntakenValue {
  std::string_view axis;
  std::string value;
  std::string why;  ///< the rule in its way, where one alone can be named
};

/// Returns the values that `said` lists and no plan of `candidates` takes; nothing where none is
/// legal.
std::vector<UntakenValue> untaken_values(const SearchAxes& said, const SearchAxes& axes,
                                         const Candidates& candidates, const SearchInputs& inputs,
                                         const SearchWatch& watch = {});

}  // namespace prequel
