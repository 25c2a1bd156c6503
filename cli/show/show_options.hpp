#pragma once

/// Options of `prequel show`.

#include <string>

#include "cli/flags/common_options.hpp"

namespace prequel {

struct ShowOptions {
  std::string kind;  ///< models, devices, clusters, software, jobs (or the singular)
  std::string name;  ///< empty: list the kind
  OutputFormat format{};
};

}  // namespace prequel
