#pragma once

/// Other tools' files in place of prequel's own.

#include <optional>
#include <string>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "cli/text/tell.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// A launch script or log as the job, a Hugging Face config as the model; `tell` hears what was
/// made of them. Clusters and software that the request names are looked up; a launch script is
/// given `script` along.
JobRequest translated(JobRequest request, const ScriptInputs& script, const Library& library,
                      const Tell& tell);

/// Facts of the model of that name, or of that text, which was made of another tool's file.
Facts named_model(const Library& library, const std::string& name,
                  const std::optional<std::string>& text);

}  // namespace prequel
