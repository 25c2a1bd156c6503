#pragma once

/// The commands that programs can call: those of every build, and those that the page lacks, which
/// fits nothing and draws its reports itself.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/calibrate/calibrate_options.hpp"
#include "cli/call/call_session.hpp"
#include "cli/compare/compare_answer.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/predict/predict_answer.hpp"
#include "cli/search/search_options.hpp"
#include "cli/show/show_answer.hpp"
#include "cli/translate/import_options.hpp"
#include "cli/validate/validate_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// The options that the flags of a command fill.
struct CallOptions {
  CommonOptions common;
  PredictOptions predict;
  SearchOptions search;
  CompareOptions compare;
  ValidateOptions validate;
  CalibrateRunsOptions runs;
  ImportOptions import;
  ShowOptions show;
};

/// A call whose words are read.
struct ReadCall {
  const Library& library;
  const CallOptions& options;
  const CallSession& session;

  [[nodiscard]] Context context() const { return {options.common.call, library.inputs()}; }
  /// Returns the progress that tells the session, and that ends the work when the session stops.
  /// Throws Interrupted.
  [[nodiscard]] Progress progress() const;
};

/// Runs nothing once the words of a call are read: its answer is asked for later.
inline constexpr auto kNoAction = [] {};

/// Reads the arguments of a call of `command` and hands them to `take`. Throws InputError as
/// `answer_call` does.
void read_call(const std::string& command, const nlohmann::ordered_json& arguments,
               const CallSession& session, const std::function<void(const ReadCall&)>& take);

struct CallCommand {
  std::string_view name;  ///< as it is spelt on the command line
  void (*add)(CLI::App& app, CallOptions& options);
  CallAnswer (*answer)(const ReadCall& call);
};
std::span<const CallCommand> shared_commands();
/// Empty in the page, as what follows.
std::span<const CallCommand> program_commands();

/// Makes the HTML report of a call that was answered with `document`.
struct CallReport {
  std::string_view command;
  std::string (*report)(const ReadCall& call, const std::string& document);
};
std::span<const CallReport> program_reports();

/// Returns possible causes of the measured time of the job that is predicted, if it has one.
std::vector<GapCause> program_causes(const Library& library, const PredictAnswer& answer);

}  // namespace prequel
