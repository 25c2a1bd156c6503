#pragma once

/// Results that many plans of a search share, computed once.

#include <cstddef>
#include <map>
#include <vector>

#include "hw/base/parallel.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// A value for each of some of many candidates, computed once for all that have one key.
template <class Value>
class Memo {
 public:
  /// `places` are of the candidates wanted. `key` and `compute` take a candidate; `compute` runs on
  /// several cores.
  template <class Key, class Compute>
  Memo(const std::vector<Candidate>& plans, const std::vector<std::size_t>& places, const Key& key,
       const Compute& compute) {
    std::map<decltype(key(plans.front())), std::size_t> known;
    std::vector<std::size_t> examples;  // the first of each key
    class_of_.reserve(places.size());
    for (const std::size_t place : places) {
      const auto [one, is_new] = known.emplace(key(plans[place]), known.size());
      if (is_new) examples.push_back(place);
      class_of_.push_back(one->second);
    }
    values_.resize(examples.size());
    parallel_for(examples.size(), [&](std::size_t i) { values_[i] = compute(plans[examples[i]]); });
  }

  /// The value of the candidate whose place was the `i`th.
  [[nodiscard]] const Value& of(std::size_t i) const { return values_[class_of_[i]]; }

 private:
  std::vector<std::size_t> class_of_;
  std::vector<Value> values_;
};

}  // namespace prequel
