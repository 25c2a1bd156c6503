#pragma once

/// Tells by the names of the programs that a script starts what it trains, if it trains at all.

#include <string>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// The command by which a script trains one model.
struct TrainingWords {
  std::vector<std::string> words;
  std::vector<std::string> told;  ///< of other trainings that it starts, too
};
/// The words of a script without those of commands that train nothing, where others do, and of the
/// trainings before the last one.
TrainingWords words_of_training(const std::vector<std::string>& words, const ForeignNames& names);

/// Throws InputError, naming `file`, where the words of a script start a program that trains no
/// decoder (pretrain_t5.py) and none that does; notes as left out that one generates text,
/// evaluates, converts, or trains beside other models.
void check_programs(const std::string& file, const std::vector<std::string>& words, Facts& job);

}  // namespace prequel
