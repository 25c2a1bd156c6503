#pragma once

/// Finds out which tool wrote a file, by its content, and reads it.

#include <string>
#include <vector>

#include "cli/import/imported_job.hpp"

namespace prequel {

/// Reads the files into one job, later ones over earlier ones, and completes it. Throws InputError
/// for a file that cannot be read or that no reader knows.
ImportedJob import_files(const std::vector<std::string>& files);

/// Whether `path` is a file that is not JSON: as a job it can only be a launch script.
bool is_launch_script(const std::string& path);

/// The model file that a Hugging Face config stands for, and what was made of it; nothing when
/// `path` is no such config (a name, a model file of prequel's own, or not to be read).
struct TranslatedModel {
  std::string json;
  ImportReport report;
};
std::optional<TranslatedModel> translate_model(const std::string& path);

}  // namespace prequel
