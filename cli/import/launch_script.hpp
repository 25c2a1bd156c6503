#pragma once

/// Reads bash launch scripts without running them: variables, arrays, arithmetic, continued lines,
/// here-documents and `#SBATCH` lines. Branches are read where their tests compare what is known,
/// or cannot be judged; loops once, in order.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// The words of all commands and `#SBATCH` lines. What cannot be known without running the script
/// keeps its `$`.
struct LaunchScript {
  std::vector<std::string> words;
  std::vector<std::string> here_documents;
  std::map<std::string, std::string, std::less<>> variables;  ///< as they are at the end
  std::vector<std::string> assumed;  ///< defaults taken, branches that may not run
};

/// Throws InputError for scripts that expand to more than 4 MiB.
LaunchScript read_launch_script(const std::string& file, std::string_view text);

}  // namespace prequel
