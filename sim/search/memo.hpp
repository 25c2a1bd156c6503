#pragma once

/// What many plans of a search share, computed once.

#include <cstddef>
#include <map>
#include <vector>

#include "hw/base/parallel.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// A value for each of many plans, the same for all that have one key.
template <class Value>
class Memo {
 public:
  /// `key` and `compute` take a candidate; `compute` runs on several cores.
  template <class Key, class Compute>
  Memo(const std::vector<Candidate>& plans, const Key& key, const Compute& compute) {
    std::map<decltype(key(plans.front())), std::size_t> known;
    std::vector<const Candidate*> examples;
    index_.reserve(plans.size());
    for (const Candidate& plan : plans) {
      const auto [place, is_new] = known.emplace(key(plan), known.size());
      if (is_new) examples.push_back(&plan);
      index_.push_back(place->second);
    }
    values_.resize(examples.size());
    parallel_for(examples.size(), [&](std::size_t i) { values_[i] = compute(*examples[i]); });
  }

  [[nodiscard]] const Value& of(std::size_t plan) const { return values_[index_[plan]]; }

 private:
  std::vector<std::size_t> index_;  ///< of each plan
  std::vector<Value> values_;
};

}  // namespace prequel
