#pragma once

/// Meanings that numbers may have by their names alone.

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

struct NumberField {
  std::string_view word;  ///< one of kNumberWords
  std::optional<std::int64_t>& (*of)(ImportedJob& job);
  const char* what;  ///< for messages
};
/// By its word; null if there is none.
const NumberField* number_field(std::string_view word);

/// Tests whether a number belongs to the layers' shape, which known flags say whole or not at all.
bool is_of_layers(const NumberField& field);

}  // namespace prequel
