#pragma once

/// Models that a file names and whose shape it leaves to others: `meta-llama/Meta-Llama-3-8B`,
/// `llama3_8b_pretrain_config`.

#include "cli/import/imported_job.hpp"

namespace prequel {

class Library;

/// Takes from the model that the job names what no file says of its shape, where prequel has it
/// (models/job/model_names.hpp), and notes it as read.
void look_up_model(const Library* library, ImportedJob& job);

}  // namespace prequel
