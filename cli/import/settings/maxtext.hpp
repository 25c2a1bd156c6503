#pragma once

/// MaxText's configurations, whose axes stand within a node (`ici_`) and between nodes (`dcn_`).

#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Tests whether a key of a configuration is MaxText's alone, so that `assume_maxtext_defaults`
/// reads it.
bool is_maxtext_key(std::string_view key);

/// Derives degrees, batches, sharding and recomputation from the keys that were noted
/// (`ImportedJob::maxtext`), with the defaults of MaxText's base.yml.
void assume_maxtext_defaults(ImportedJob& job);

}  // namespace prequel
