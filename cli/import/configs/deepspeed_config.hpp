#pragma once

/// Reads DeepSpeed's `ds_config.json`, a file or a here-document of a launch script.

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Document;

/// Tests whether the JSON looks like such a file: a batch size, `zero_optimization`, a precision.
bool is_deepspeed_config(const Document& document);

/// Reads batch sizes, ZeRO stage, offload and precision into `job`; what is "auto" stays as other
/// files say it. Throws InputError for values of the wrong type or range, and for two precisions.
void read_deepspeed_config(const Document& document, ImportedJob& job);

}  // namespace prequel
