#pragma once

/// Fields of a job by name: an axis of its plan (`plan.tp`), a key of its model file
/// (`model.hidden_size`), or one of its own (`devices_per_node`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/import/job/foreign_names.hpp"

namespace prequel {

class Cursor;
struct ImportedJob;

/// Reads `model.mlp=swiglu plan.zero?=3`. A field that no job has, or a value that it cannot have,
/// is a problem of the document.
Effect read_effect(const Cursor& text);

/// Sets the fields; a value `*` stands for what is said.
void take_effect(const Effect& effect, ImportedJob& job, const std::string& said = {});

/// Sets the field; false where no job has one of that name, or it cannot have that value.
bool assign(const Assignment& one, ImportedJob& job);
inline bool assign(std::string field, std::string value, ImportedJob& job) {
  return assign({std::move(field), Assignment::How::set, std::move(value)}, job);
}

/// Tests whether nothing says the field yet.
bool is_open(std::string_view field, ImportedJob& job);

/// Returns the whole number of that name; null where no job has one.
std::optional<std::int64_t>* number_field(std::string_view field, ImportedJob& job);

/// Returns the name of a number for messages: `layers`, `devices of a node`.
std::string_view spoken(std::string_view field);

/// Tests whether a number belongs to the layers' shape, which known flags say whole or not at all.
bool is_of_layers(std::string_view field);

}  // namespace prequel
