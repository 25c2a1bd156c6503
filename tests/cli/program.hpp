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

/// `arguments` as a shell would read them; its data are those of the source tree.
inline ProgramResult run_prequel(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string command = "PREQUEL_DATA='" PREQUEL_DATA_DIR "' '" PREQUEL_PROGRAM "' " +
                              arguments + " >" + (folder / "out") + " 2>" + (folder / "err");
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"),
          read_file(folder / "err")};
}

}  // namespace prequel
