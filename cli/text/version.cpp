#include "cli/text/version.hpp"

#include <fmt/format.h>

#include "cli/api/prequel.hpp"

namespace prequel {

std::string version_number() {
  return PREQUEL_VERSION;
}

std::string version() {
  return "prequel " + version_number();
}

std::string build_facts(const Library& library) {
  const std::string commit = PREQUEL_COMMIT;
  return fmt::format("{}{}\ncompiler    {}\nbuild type  {}\ndata        {}", version(),
                     commit.empty() ? "" : " (" + commit + ")", PREQUEL_COMPILER,
                     PREQUEL_BUILD_TYPE, library.directory());
}

}  // namespace prequel
