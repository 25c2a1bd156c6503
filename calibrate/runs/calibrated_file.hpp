#pragma once

#include <string>

namespace prequel {

/// A file of a data folder with constants that runs told.
struct CalibratedFile {
  std::string folder;  ///< of a data folder: "devices", "clusters" or "software"
  std::string name;
  std::string text;  ///< JSON
};

}  // namespace prequel
