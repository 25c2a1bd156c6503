#pragma once

/// Files of other tools as they come in, and what kind each of them is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/import/configs/config_values.hpp"
#include "cli/import/logs/training_log.hpp"

namespace prequel {

/// The kinds of files, each of which has a reader.
enum class SourceKind : std::uint8_t { script, json, yaml, toml, python, log };

/// A file and its kind.
struct Source {
  std::string file;  ///< for messages
  std::string text;  ///< its first 16 MiB
  SourceKind kind{};
  TrainingLog log;                ///< empty for other files
  ConfigTree tree;                ///< of YAML and TOML
  std::vector<std::string> told;  ///< lines of the report on what is left out of it
  bool within{};                  ///< whether it is what a configuration runs, no file of its own
  std::string named_by;           ///< the file that names it, where the user does not

  [[nodiscard]] bool is(SourceKind one) const { return kind == one; }
  /// Returns its name without folders.
  [[nodiscard]] std::string name() const;
};

/// The first of the files that the user gives, for messages.
const std::string& first_file(const std::vector<Source>& sources);

/// Reads a file (`-` is stdin), and the script that a configuration in YAML holds. Throws
/// InputError for what is no text, or over 16 MiB and no log.
void add_sources(const std::string& path, std::vector<Source>& sources);

/// All files that are JSON hold an object; a log may well begin with a bracket, or with a
/// dictionary of Python's.
bool is_json(std::string_view text);

/// Python writes Infinity and NaN, which JSON has not: null stands in for them.
std::string without_infinities(std::string_view text);

/// Returns what `text` looks like and what would do instead: "a trace of kernels (…); …"; empty
/// where it looks like nothing known.
std::string what_it_looks_like(std::string_view text);

/// Tests whether the first line that says something is a section in brackets.
bool looks_like_toml(std::string_view text);

}  // namespace prequel
