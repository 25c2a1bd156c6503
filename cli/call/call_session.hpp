#pragma once

/// Session of a call.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/api/prequel.hpp"
#include "models/job/file_cache.hpp"

namespace prequel {

class ParserPool;

/// The state that calls share while a program runs.
struct CallSession {
  std::vector<std::string> data_directories;
  std::shared_ptr<FileCache> files;  ///< kept from call to call; empty: none
  const std::atomic<bool>* stop{};   ///< ends what takes long
  Progress progress;
  std::shared_ptr<ParserPool> parsers{};  ///< kept as `files` are
  /// Most tasks of a prediction's timeline, or plans of a search, to draw; 0: no drawing.
  std::size_t drawn_slices{};
  std::map<std::string, std::string> documents{};  ///< texts of files, by names that ask for them
};

}  // namespace prequel
