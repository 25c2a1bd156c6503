#pragma once

/// Runs the real program as a user does.

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "hw/base/files.hpp"
#include "tests/hw/base/temporary_folder.hpp"

namespace prequel {

struct ProgramResult {
  int status{};  ///< exit status; -1 if it was killed
  std::string out, err;
};

/// `arguments` as a shell would read them, in the source tree and with its data; `before` them and
/// the program, what sets its variables, and `behind` them, where its answer goes.
inline ProgramResult run_prequel(const std::string& arguments, const std::string& before = {},
                                 const std::string& behind = {}) {
  const TemporaryFolder folder;
  const std::string command = "cd '" PREQUEL_SOURCE_DIR "' && PREQUEL_DATA=data " + before +
                              " '" PREQUEL_PROGRAM "' " + arguments + " >" + (folder / "out") +
                              " 2>" + (folder / "err") + " " + behind;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"),
          read_file(folder / "err")};
}

}  // namespace prequel
