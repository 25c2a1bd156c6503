#pragma once

/// JSON documents of answers.

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "hw/base/unit_text.hpp"

namespace prequel {

/// A JSON value whose members keep their order.
using Json = nlohmann::ordered_json;

/// Returns a list of what `one` makes of each element.
template <class Range, class One>
Json list_json(const Range& range, const One& one) {
  Json list = Json::array();
  for (const auto& element : range) list.push_back(one(element));
  return list;
}

/// Returns the number; null where it is infinite, which JSON has no word for.
inline Json finite_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// Returns what `make` makes of an optional value; null where there is none.
template <class Optional, class Make>
Json optional_json(const Optional& value, const Make& make) {
  return value ? Json(make(*value)) : Json(nullptr);
}

/// Sets a member where there is a value.
template <class Optional>
void set_json(Json& json, const char* key, const Optional& value) {
  if (value) json[key] = *value;
}

/// Returns the text of a document. Foreign bytes that are not UTF-8 must not cost the answer.
inline std::string document_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace prequel
