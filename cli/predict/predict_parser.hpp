#pragma once

/// The command line of `prequel predict`.

#include <functional>

#include "cli/predict/predict_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds `predict`; `action` runs where it was chosen.
void add_predict(CLI::App& app, PredictOptions& options, const std::function<void()>& action);

}  // namespace prequel
