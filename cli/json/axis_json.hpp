#pragma once

/// Values of a plan's axes as JSON.

#include <nlohmann/json.hpp>

#include "models/axes/axes.hpp"

namespace prequel {

/// Returns numbers and texts as they are, words by their names.
template <class Value>
nlohmann::ordered_json axis_json(const Value& value) {
  if constexpr (Worded<Value>) {
    return name(value);
  } else {
    return value;
  }
}
template <Worded Enum>
nlohmann::ordered_json axis_json(const WordSet<Enum>& set) {
  auto words = nlohmann::ordered_json::array();
  for (const Enum value : all_of<Enum>()) {
    if (set.has(value)) words.push_back(name(value));
  }
  return words;
}

}  // namespace prequel
