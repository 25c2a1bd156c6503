#pragma once

/// MaxText's configurations, whose axes stand within a node (`ici_`) and between nodes (`dcn_`).

#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Whether a key of a configuration is MaxText's alone, so that `assume_maxtext_defaults` reads it.
bool is_maxtext_key(std::string_view key);

/// What follows from the keys that were noted (`ImportedJob::maxtext`): degrees, batches, sharding
/// and recomputation, with the defaults of its base.yml.
void assume_maxtext_defaults(ImportedJob& job);

}  // namespace prequel
