#pragma once

/// The measurement file while it is written: JSON Lines, one finished point a line.

#include <set>
#include <string>

#include "calibrate/measure/work.hpp"

namespace prequel {

/// Holds the file locked against other writers. Data given to `add` are on disk when it returns.
class Journal {
 public:
  /// Opens a new file and writes `context` (a JSON object) as its head, or, to resume, an old one:
  /// a line that a kill cut off is removed, finished points are kept. Throws InputError: the file
  /// is there and `resume` is not asked for, another process writes to it, or it is not ours.
  Journal(const std::string& path, bool resume, const std::string& context);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  [[nodiscard]] bool has(const Work& work) const { return done_.contains(work_text(work)); }
  /// Adds the point of `work`; `results` is the JSON object of what was measured.
  void add(const Work& work, const std::string& results);

 private:
  void read_finished();
  void append(const std::string& line);

  std::string path_;
  int file_{-1};
  std::set<std::string> done_;
};

}  // namespace prequel
