#pragma once

/// Fields of a job by name: an axis of its plan (`plan.tp`), a key of its model file
/// (`model.hidden_size`), or a fact (`devices_per_node`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/import/job/foreign_names.hpp"

namespace prequel {

class Cursor;
class Facts;

/// Reads `model.mlp=swiglu plan.zero?=3`. A field that no job has, or a value that it cannot have,
/// is a problem of the document.
Effect read_effect(const Cursor& text);

/// Sets the fields; a value `*` stands for what is said, `{plan.tp}` for that of a field, and `-`
/// takes a value back.
void take_effect(const Effect& effect, Facts& job, const std::string& said = {});

/// Sets the field; false where no job has one of that name, or it cannot have that value.
bool assign(const Assignment& one, Facts& job);
inline bool assign(std::string field, std::string value, Facts& job) {
  return assign({std::move(field), Assignment::How::set, std::move(value)}, job);
}

/// Tests whether nothing says the field yet.
bool is_open(std::string_view field, const Facts& job);

/// Returns the value of a field, a flag, a key or a fact as text; nothing where none is said.
/// `accelerate_file.name` is the own name of a file, without its folders.
/// `of.levanter` and `open.--nnodes` are "true" for files of that framework, and for a flag that
/// is not resolved.
std::optional<std::string> text_of(std::string_view name, const Facts& job);

/// Replaces `{plan.tp}` by the value of that field, as a message may show it, and `{plan.tp:1}` by
/// 1 where nothing says it.
std::string filled(std::string_view text, const Facts& job, std::size_t limit = 60);

/// Tests whether a job has a whole number of that name.
bool is_number(std::string_view field);
/// Tests whether it has a switch of that name.
bool is_switch(std::string_view field);

/// Returns the name of a number for messages: `layers`, `devices of a node`.
std::string_view spoken(std::string_view field);

/// Tests whether a number belongs to the layers' shape, which known flags say whole or not at all.
bool is_of_layers(std::string_view field);

}  // namespace prequel
