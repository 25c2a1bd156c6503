#pragma once

/// Questions that programs ask (Python, agents, the page): a command and its arguments as JSON.
/// They go through the parser of the command line, so that all have the same words, checks and
/// answers; nothing is printed.

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/call/call_session.hpp"

namespace prequel {

/// Parsers that calls keep for the next one; several threads may share one.
std::shared_ptr<ParserPool> make_parser_pool();

/// The commands that can be called, as they are spelt on the command line: "calibrate runs".
std::vector<std::string> callable_commands();

/// Answers `command`. `arguments` is an object whose members are named as the flags are, with
/// underscores (`seq_len`), or as the positionals (`job`, `files`, `runs`, `kind`, `name`): text,
/// numbers and booleans; lists for lists and repeatable flags; of `set` an object of paths and
/// values; of `job`, `model`, `device`, `cluster` and `software` the name, the path or the whole
/// JSON object; of the sides `a` and `b` of a comparison a whole job, or an object of a `job` and
/// fields. Throws InputError as the command does, for unknown arguments, for those that would write
/// files, and for stdin. Once `stop` is set, a search answers what it has found; others throw
/// Interrupted.
CallAnswer answer_call(const std::string& command, const nlohmann::ordered_json& arguments,
                       const CallSession& session);

/// The HTML report of a call that was answered with `document`. Throws InputError where this build
/// has no reports, or there is none for the command.
std::string report_call(const std::string& command, const nlohmann::ordered_json& arguments,
                        const std::string& document, const CallSession& session);

/// Predicts a table of plans, for programs that sweep. `arguments` is what all rows share, as
/// `predict` takes it. `columns` has a list for each axis of a plan that rows differ in; null
/// leaves a cell to what they share. Returns the columns `sec_per_iter`, `tokens_per_sec`,
/// `tokens_per_sec_per_gpu`, `mfu`, `peak_memory_gib`, `verdict` and `problem`, as long as those: a
/// plan that the rules refuse has nothing but its problem. Seconds and memory are those of
/// `predict`, to the last bit. Throws InputError for columns that are no axis, lists of unequal
/// length and values that no plan has.
nlohmann::ordered_json predict_many(const nlohmann::ordered_json& arguments,
                                    const nlohmann::ordered_json& columns,
                                    const CallSession& session);

/// ` (did you mean "x"?)` for a name that no argument of `command` has, or the empty text: names
/// that are spelt nearly so, else those of which a longer spelling has all its words.
std::string argument_hint(const std::string& command, const std::string& name);

/// The JSON Schema of the arguments of `command`.
nlohmann::ordered_json arguments_schema(const std::string& command);

}  // namespace prequel
