#pragma once

/// The launch scripts among the files of a job: what they start from, which of them start the
/// others, and what their command lines set in configurations.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/configs/config_values.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/named_inputs.hpp"
#include "cli/import/shell/shell_state.hpp"
#include "cli/import/source_files.hpp"

namespace prequel {

/// Tests whether a word of a command line is a long option.
bool is_flag(const std::string& word);

/// Takes the settings out of a command line by which it changes a configuration:
/// `model.num_layers=4` and `+model.num_layers=4` as Hydra has them, `--training.seq_len 4096` as
/// torchtitan does.
ConfigValues take_settings(std::vector<std::string>& words);

/// Returns the state that a script starts from: the user's inputs for it, and the other scripts,
/// which it may run. Nodes that the user asks for are those of its variables, so that values which
/// scripts derive from them follow.
ShellState state_before(const std::vector<Source>& sources, const ImportNames& names);

/// Scripts that others run or source are read as those do, and are none of these.
std::vector<const Source*> scripts_that_start(const std::vector<Source>& sources,
                                              const ImportNames& names);

/// Notes settings that scripts make in a configuration: these overrule it, wherever it is among the
/// files.
void note_settings(const std::vector<Source>& sources, const std::vector<const Source*>& scripts,
                   const ImportNames& names, Facts& job);

/// Notes what a word says of `sed`: `s/WORD/VALUE/`, with any sign, and one behind the other.
void remember_substitutions(std::string_view word, Facts& job);

/// A template of JSON as `sed` fills it by what was noted, and `envsubst` by the script's
/// variables. Throws InputError for what grows beyond 16 MiB.
std::string filled_template(const std::string& text, const Facts& job, const ShellState& state);

}  // namespace prequel
