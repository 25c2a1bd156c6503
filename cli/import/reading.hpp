#pragma once

/// Contents of a job's files, before anything is made of them.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/named_inputs.hpp"
#include "cli/import/shell/shell_state.hpp"
#include "cli/import/source_files.hpp"

namespace prequel {

/// Tests whether a word of a command line is a long option.
inline bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--");
}

struct Reading {
  Facts job;
  ShellState state;    ///< of the scripts, at their end
  std::string unread;  ///< a script without any flag
};

/// Reads all files but logs, later ones over earlier ones. Throws InputError for what none of the
/// readers knows, and for what decides a size and is not known.
Reading read_sources(const std::vector<Source>& sources, const ImportNames& names);

}  // namespace prequel
