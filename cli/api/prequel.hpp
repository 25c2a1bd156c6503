#pragma once

/// The library: questions and answers as JSON texts, as the program, Python and agents have them.
/// This header and those that it includes are all that is installed.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/runs/calibrated_file.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/progress.hpp"

namespace prequel {

/// A command and its arguments.
struct Call {
  /// Name as it is spelt on the command line: "predict", "calibrate runs".
  std::string command;
  /// JSON object whose members are named as the flags are, with underscores (`seq_len`), or as the
  /// positionals (`job`, `files`, `runs`): text, numbers and booleans; lists for repeatable flags;
  /// of `set` an object of paths and values; of `job`, `model`, `device`, `cluster` and `software`
  /// a name, a path or the whole object.
  std::string arguments{"{}"};
  std::vector<std::string> data_directories{};  ///< searched before prequel's own data
  const std::atomic<bool>* stop{};              ///< once set, ends what takes long
  Progress progress{};
};

struct CallAnswer {
  std::string document;  ///< JSON, as the program prints it
  bool is_no{};          ///< whether the answer is "no", as the exit status 1 says
  std::string drawing;   ///< JSON of a timeline or a cloud of plans, where one was asked for
  std::string remarks;   ///< lines on what was read, assumed and left out of other tools' files
  std::vector<CalibratedFile> files;  ///< of a data folder, for those who write it
};

/// Answers calls, and keeps the files that they read for the next one. Several threads may ask at
/// once. All throw InputError where the program would end with status 2.
class Session {
 public:
  Session();

  /// Answers a call as the program does. A search that is stopped answers what it has found.
  [[nodiscard]] CallAnswer answer(const Call& call) const;
  /// Predicts a table of plans. `shared` has what all rows share, as `predict` takes it; `columns`
  /// is a JSON object with a list for each axis of a plan that rows differ in. Returns the columns
  /// `sec_per_iter`, `tokens_per_sec`, `tokens_per_sec_per_gpu`, `mfu`, `peak_memory_gib`,
  /// `verdict` and `problem`, as long as those.
  [[nodiscard]] std::string predict_many(const Call& shared, const std::string& columns) const;
  /// Returns the HTML report of a call that was answered with `document`.
  [[nodiscard]] std::string report(const Call& call, const std::string& document) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Returns the JSON Schema of the arguments of a command.
std::string schema_of_arguments(const std::string& command);

/// Returns the version: "0.2.0".
std::string version_number();

}  // namespace prequel
