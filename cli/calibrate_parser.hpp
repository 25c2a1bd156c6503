#pragma once

/// The command line of `prequel calibrate`.

#include <functional>

#include "cli/calibrate_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds `calibrate` with its sub-commands; the actions run the one that was chosen.
void add_calibrate(CLI::App& app, CalibrateCheckOptions& check,
                   const std::function<void()>& run_check, CalibrateFitOptions& fit,
                   const std::function<void()>& run_fit);

}  // namespace prequel
