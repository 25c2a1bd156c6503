#pragma once

#include <string>

namespace prequel {

/// One field set by the caller: `path` begins with model, device, cluster, software, plan or
/// what_if.
struct Override {
  std::string path;
  std::string value;
  std::string from{"override"};  ///< what said it, for messages
};

}  // namespace prequel
