#pragma once

/// What a call is made with and what comes of it.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/runs/calibrated_file.hpp"
#include "hw/base/progress.hpp"
#include "models/job/file_cache.hpp"

namespace prequel {

class ParserPool;

/// What calls share while a program runs.
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

struct CallAnswer {
  std::string document;  ///< JSON, as the program prints it
  bool is_no{};          ///< whether the answer is "no", as the exit status 1 says
  std::string drawing;   ///< JSON, as `drawing_json` or `cloud_json` says, where one was asked for
  std::string remarks;   ///< lines on what was read, assumed and left out of other tools' files
  std::vector<CalibratedFile> files;  ///< of a data folder, for those who write it
};

}  // namespace prequel
