#pragma once

namespace prequel {

/// Parses the command line, runs the command and returns the exit status. The only place that
/// catches exceptions.
int run_command_line(int argc, const char* const* argv);

}  // namespace prequel
