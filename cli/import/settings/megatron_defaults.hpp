#pragma once

/// Defaults of Megatron and other frameworks where no flag asks for anything else.

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Fills in what Megatron does where no flag asks for anything else: no recomputation, ZeRO 0
/// (unless DeepSpeed trains), no sequence parallelism, the width of a gated MLP, keys and values
/// for all heads. Notes as assumed what a user could have meant otherwise.
void assume_megatron_defaults(ImportedJob& job);

}  // namespace prequel
