#pragma once

/// Results that many plans of a search share, computed once.

#include <cstddef>
#include <map>
#include <vector>

#include "hw/base/parallel.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// Which of many candidates have the same key.
class Classes {
 public:
  template <class Key>
  Classes(const std::vector<Candidate>& plans, const Key& key) {
    std::map<decltype(key(plans.front())), std::size_t> known;
    of_.reserve(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto [place, is_new] = known.emplace(key(plans[i]), known.size());
      if (is_new) examples_.push_back(i);
      of_.push_back(place->second);
    }
  }

  /// The class of a candidate, counted from 0.
  [[nodiscard]] std::size_t of(std::size_t plan) const { return of_[plan]; }

  /// A value for each class, by an example of it; `compute` runs on several cores.
  template <class Value, class Compute>
  [[nodiscard]] std::vector<Value> of_each(const std::vector<Candidate>& plans,
                                           const Compute& compute) const {
    std::vector<Value> values(examples_.size());
    parallel_for(examples_.size(),
                 [&](std::size_t i) { values[i] = compute(plans[examples_[i]]); });
    return values;
  }

 private:
  std::vector<std::size_t> of_;
  std::vector<std::size_t> examples_;  ///< the first of each class
};

/// A value for each of many candidates, computed once for all that have one key.
template <class Value>
class Memo {
 public:
  /// `key` and `compute` take a candidate; `compute` runs on several cores.
  template <class Key, class Compute>
  Memo(const std::vector<Candidate>& plans, const Key& key, const Compute& compute)
      : classes_(plans, key), values_(classes_.of_each<Value>(plans, compute)) {}

  [[nodiscard]] const Value& of(std::size_t plan) const { return values_[classes_.of(plan)]; }

 private:
  Classes classes_;
  std::vector<Value> values_;
};

}  // namespace prequel
