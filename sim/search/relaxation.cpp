#include "sim/search/relaxation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/errors.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kFineNodes = 8;  // from which on not every number is tried

class Relaxer {
 public:
  Relaxer(const SearchInputs& inputs, const SearchLimits& limits, bool everything)
      : inputs_(inputs), limits_(limits), everything_(everything) {
    limits_.best = 1;
  }

  void without_limits(const Candidates& candidates) {
    for (std::size_t i = 0; i < limits_.requirements.size(); ++i) {
      SearchLimits fewer = limits_;
      fewer.requirements.erase(fewer.requirements.begin() + static_cast<std::ptrdiff_t>(i));
      add("--require '" + limits_.requirements[i].text() + "'", candidates, fewer);
    }
    if (limits_.memory_headroom > 0) {
      SearchLimits fuller = limits_;
      fuller.memory_headroom = 0;
      add("--memory-headroom", candidates, fuller);
    }
  }

  /// Without what is said of an axis.
  template <class Axis>
  void without(const Axis& axis, SearchAxes said) {
    if (axis.of(said).empty()) return;
    axis.of(said).clear();
    add(std::string(first_flag(axis)), plans_of(said), limits_);
  }

  void more_nodes(SearchAxes axes) {
    for (std::int64_t nodes = axes.nodes.back() + 1; nodes <= inputs_.cluster.nodes;
         nodes += 1 + nodes / kFineNodes) {
      axes.nodes = {nodes};
      if (add(fmt::format("--nodes {}", nodes), plans_of(axes), limits_)) return;
    }
  }

  [[nodiscard]] Candidates plans_of(const SearchAxes& said) const {
    return legal_plans(fill_axes(said, inputs_, everything_), inputs_);
  }

  std::vector<Relaxation> result() && { return std::move(found_); }

 private:
  /// Whether plans then fit.
  bool add(std::string limit, const Candidates& candidates, const SearchLimits& limits) {
    try {
      const SearchResult result = search(candidates, inputs_, limits);
      if (result.plans.empty()) return false;
      found_.push_back({std::move(limit), result.fitting, result.plans.front()});
      return true;
    } catch (const InputError&) {
      return false;  // a requirement that divides by zero for plans that were not asked for
    }
  }

  const SearchInputs& inputs_;
  SearchLimits limits_;
  bool everything_;
  std::vector<Relaxation> found_;
};

}  // namespace

std::vector<Relaxation> relaxations(const SearchAxes& said, const SearchInputs& inputs,
                                    const SearchLimits& limits, bool everything) {
  Relaxer relaxer(inputs, limits, everything);
  relaxer.without_limits(relaxer.plans_of(said));
  each_axis([&](const auto& axis) {
    if (is_searched(axis.use)) relaxer.without(axis, said);
  });
  relaxer.more_nodes(said);
  return std::move(relaxer).result();
}

std::vector<Relaxation> relaxations(const Candidates& candidates, const SearchInputs& inputs,
                                    const SearchLimits& limits) {
  Relaxer relaxer(inputs, limits, false);
  relaxer.without_limits(candidates);
  return std::move(relaxer).result();
}

}  // namespace prequel
