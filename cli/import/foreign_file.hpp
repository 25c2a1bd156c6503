#pragma once

/// Finds out which tool wrote a file, by its content, and reads it.

#include <optional>
#include <string>
#include <vector>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/logged_runs.hpp"
#include "cli/import/named_inputs.hpp"

namespace prequel {

/// The content of files: one job and, from training logs, the runs that were timed or that failed.
struct Import {
  ImportedJob job;
  std::vector<LoggedRun> runs;
};

/// Reads the files (`-` is stdin) into one job, later ones over earlier ones but logs over all, and
/// completes it. A file is what its content says, whatever its name. Throws InputError for a file
/// that cannot be read or that no reader knows, and for what the framework itself would refuse.
Import import_files(const std::vector<std::string>& files, const ImportNames& names = {});

/// A job or model file of prequel's own, made from another tool's, and what was made of it.
struct Translated {
  std::string json;
  std::vector<SoftwareField> software;  ///< what a job file cannot say: it belongs to the software
  ImportReport report;
};

/// The job that a launch script or a log stands for; nothing when `path` is a name or JSON. On
/// stdin (`-`) a job of prequel's own is handed on as it is.
std::optional<Translated> translate_job(const std::string& path, const ImportNames& names = {});

/// The model file that a Hugging Face config stands for; nothing when `path` is no such config (a
/// name, a model file of prequel's own, or not to be read).
std::optional<Translated> translate_model(const std::string& path);
/// The same of a file's text; `file` names it.
std::optional<Translated> translate_model_text(const std::string& file, const std::string& text);

}  // namespace prequel
