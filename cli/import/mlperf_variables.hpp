#pragma once

/// MLPerf's configurations: shell files of variables alone, `config_DGXB200_1x8x1xtp1pp1cp1.sh`.

#include <string>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/shell/shell_state.hpp"

namespace prequel {

/// Reads the variables of NVIDIA's and its partners' submissions, where a script has them: nodes
/// and devices, degrees, batch, formats. MINIBS is the batch of a replica. In fine-tuning
/// (LORA_A2A, or `lora` in the file's path) the benchmark fixes the model, Llama 2 70B, its
/// sequences of 8,192 tokens and adapters of rank 16 beside attention. Returns whether the script
/// is such a one.
bool read_mlperf_variables(const std::string& file, const ShellState& state, Facts& job);

}  // namespace prequel
