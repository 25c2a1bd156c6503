#pragma once

/// Flags that several commands share: the inputs of a job, its plan, and the form of the answer.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds to what is set on the command line. Throws InputError where the field was set to another
/// value.
void add_override(std::vector<Override>& overrides, Override added);

/// `--json`, and `--csv` where there is a table.
void add_format(CLI::App& command, OutputFormat& format, bool with_csv);

/// `--report FILE.html`.
void add_report(CLI::App& command, std::string& file);

/// `--emit`; `others` print something else on stdout.
void add_emit(CLI::App& command, std::string& framework, std::initializer_list<const char*> others);

/// `--set PATH=VALUE`.
void add_set(CLI::App& command, std::vector<Override>& overrides);

/// A flag that takes the name of something.
void add_name(CLI::App& command, const char* flag, std::optional<std::string>& name,
              const char* help);

/// Model, cluster, device and software.
void add_inputs(CLI::App& command, JobRequest& request);

/// Adds the flags of a launch script's inputs: `--args`, `--env`.
void add_script(CLI::App& command, ScriptInputs& script);

/// Adds flags of what all plans of a search share, but for the axis that is named.
void add_shared_axes(CLI::App& command, std::vector<Override>& overrides, std::string_view but_for);

/// Adds the flags that may stand beside a job's file: inputs, all axes of the plan, `--set`.
void add_job_fields(CLI::App& command, JobRequest& request);

/// Adds the flags that name one job: its file, its inputs and its plan.
void add_job(CLI::App& command, JobRequest& request);

/// Adds the flag of the axis of a plan with that name.
void add_plan_field(CLI::App& command, std::string_view name, std::vector<Override>& overrides);

}  // namespace prequel
