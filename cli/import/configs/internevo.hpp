#pragma once

/// InternEvo's configurations: `data = dict(micro_num=4, …)`, `parallel =
/// dict(zero1=dict(size=8))`.

#include "cli/import/configs/config_values.hpp"
#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Tests whether the values are those of such a configuration.
bool is_internevo(const ConfigValues& values);

/// The values by the names that other configurations have for them; what has none goes to `job`.
ConfigValues from_internevo(ConfigValues values, ImportedJob& job);

}  // namespace prequel
