#pragma once

/// The flags that ask about a whole training.

#include "sim/run/training_run.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds them to `command`; they fill `question`.
void add_run_flags(CLI::App& command, RunQuestion& question);

}  // namespace prequel
