#pragma once

/// Options of schedulers and launchers, spelt as the long ones of Slurm and of torchrun.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prequel {

/// Returns the options that a line of `#SBATCH`, `#PBS`, `#BSUB`, `#PJM`, `#COBALT` or `#$` asks
/// for: `--nodes=4`. Empty for comments of other kinds.
std::vector<std::string> scheduler_options(std::string_view line);

/// The variables that Slurm sets from its options.
std::vector<std::pair<std::string, std::string>> scheduler_variables(
    const std::vector<std::string>& options);

/// Spells out the options of a launcher: `srun -N 4`, `mpirun -np 8`, `jsrun -n 6 -g 6`, `composer
/// -n 8`. Those of the program that it launches stay as they are.
void spell_out_launcher(std::vector<std::string>& command);

/// The program that a command names, without its folder.
std::string program_of(const std::vector<std::string>& command);

}  // namespace prequel
