#pragma once

/// Models that a file names and whose shape it leaves to others: `meta-llama/Meta-Llama-3-8B`,
/// `llama3_8b_pretrain_config`.

#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Library;
struct LaunchScript;

/// Notes where a script may name its model beside the flags that are known to: its variables, its
/// program, its other words.
void note_model_clues(const LaunchScript& script, ImportedJob& job);
/// Notes that a file's own name may tell.
void note_file_clue(const std::string& file, ImportedJob& job);

/// Takes from the model that the job names what no file says of its shape, where prequel has it
/// (models/job/model_names.hpp), and notes it as read; where it names none, from the model that is
/// named within the likeliest other text, and notes that as assumed.
void look_up_model(const Library* library, ImportedJob& job);

}  // namespace prequel
