#pragma once

/// Questions that programs ask (Python, agents, the page): a command and its arguments as JSON.
/// They go through the parser of the command line, so that all have the same words, checks and
/// answers; nothing is printed.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/calibrated_file.hpp"
#include "models/job/library.hpp"

namespace prequel {

class ParserPool;

/// Parsers that calls keep for the next one; several threads may share one.
std::shared_ptr<ParserPool> make_parser_pool();

/// What calls share while a program runs.
struct CallSession {
  std::vector<std::string> data_directories;
  std::shared_ptr<FileCache> files;                        ///< kept from call to call; empty: none
  const std::atomic<bool>* stop{};                         ///< ends what takes long
  std::function<void(std::size_t, std::size_t)> progress;  ///< done, of how many; or empty
  std::shared_ptr<ParserPool> parsers{};                   ///< kept as `files` are
};

struct CallAnswer {
  std::string document;  ///< JSON, as the program prints it
  bool is_no{};          ///< whether the answer is "no", as the exit status 1 says
  std::string remarks;   ///< lines on what was read, assumed and left out of other tools' files
  std::vector<CalibratedFile> files;  ///< of a data folder, for those who write it
};

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

/// The JSON Schema of the arguments of `command`.
nlohmann::ordered_json arguments_schema(const std::string& command);

}  // namespace prequel
