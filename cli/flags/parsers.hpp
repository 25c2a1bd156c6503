#pragma once

/// The command lines of the commands.

#include <functional>

namespace CLI {
class App;
}

namespace prequel {

struct CompareOptions;
struct ImportOptions;
struct McpOptions;
struct PredictOptions;
struct SearchOptions;
struct ShowOptions;
struct ValidateOptions;

/// Runs the command that was chosen.
using Action = std::function<void()>;

// Each adds a command with its flags, which fill the options.
void add_predict(CLI::App& app, PredictOptions& options, const Action& action);
void add_search(CLI::App& app, SearchOptions& options, const Action& action);
void add_compare(CLI::App& app, CompareOptions& options, const Action& action);
void add_import(CLI::App& app, ImportOptions& options, const Action& action);
void add_show(CLI::App& app, ShowOptions& options, const Action& action);
void add_validate(CLI::App& app, ValidateOptions& options, const Action& action);
void add_mcp(CLI::App& app, McpOptions& options, const Action& action);

}  // namespace prequel
