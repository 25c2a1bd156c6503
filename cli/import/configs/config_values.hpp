#pragma once

/// Configurations whose keys are Megatron's arguments or like them, whatever format they are in.

#include <map>
#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Scalars by their path, `model.hidden_size`; the items of a list between blanks.
using ConfigValues = std::map<std::string, std::string>;

/// Reads values into `job` as the flags that say the same. Keys are known by their names, whatever
/// section they are in (those of validation, inference and the like aside); `${a.b}` and
/// `${NAME:default}` stand for what they name. Other keys are listed as ignored. The job's settings
/// are set over them.
void read_config_values(const std::string& file, const ConfigValues& own, ImportedJob& job);

/// Tests whether a section says nothing of the training itself.
bool is_other_section(std::string_view key);

}  // namespace prequel
