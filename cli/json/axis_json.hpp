#pragma once

/// Values of a plan's axes as JSON.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "models/axes/axes.hpp"

namespace prequel {

inline nlohmann::ordered_json axis_json(std::int64_t value) {
  return value;
}
inline nlohmann::ordered_json axis_json(bool value) {
  return value;
}
inline nlohmann::ordered_json axis_json(double value) {
  return value;
}
inline nlohmann::ordered_json axis_json(const std::string& value) {
  return value;
}
template <Worded Enum>
nlohmann::ordered_json axis_json(const WordSet<Enum>& set) {
  auto words = nlohmann::ordered_json::array();
  for (const Enum value : all_of<Enum>()) {
    if (set.has(value)) words.push_back(name(value));
  }
  return words;
}
template <Worded Enum>
nlohmann::ordered_json axis_json(Enum value) {
  return name(value);
}

}  // namespace prequel
