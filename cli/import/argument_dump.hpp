#pragma once

/// Understands the arguments that a training program prints when it starts: all of them, resolved.

#include <string>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/logs/training_log.hpp"

namespace prequel {

/// Reads Megatron's dump into `job`, over what other files said: what a dump has as None, False or
/// 0 was not asked for. Throws InputError, naming `file` and argument, for values that cannot be.
void read_argument_dump(const std::string& file, const LogSection::Arguments& arguments,
                        ImportedJob& job);

/// Reads what DeepSpeed's engine prints of its config; what cannot be read is passed over.
void read_engine_arguments(const LogSection::Arguments& arguments, ImportedJob& job);

}  // namespace prequel
