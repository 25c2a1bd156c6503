#include "cli/call/call_commands.hpp"

#include <array>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "calibrate/runs/gap.hpp"
#include "cli/calibrate/calibrate_parser.hpp"
#include "cli/calibrate/calibration_format.hpp"
#include "cli/calibrate/runs_answer.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/predict/predict_answer.hpp"
#include "cli/report/report.hpp"
#include "cli/validate/validate_answer.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

ValidateAnswer validated(const ReadCall& call) {
  return answer_validate(call.library, call.options.validate, call.progress());
}

CallAnswer validate_call(const ReadCall& call) {
  const ValidateAnswer all = validated(call);
  CallAnswer answer;
  answer.document = validation_json(all.runs, all.groups, all.causes, call.context());
  return answer;
}

CallAnswer runs_call(const ReadCall& call) {
  RunsAnswer fitted = answer_calibrate_runs(call.library, call.options.runs, call.session.stop);
  CallAnswer answer;
  answer.document = run_fit_json(fitted, call.context());
  answer.files = std::move(fitted.files);
  return answer;
}

std::string predict_report(const ReadCall& call, const std::string& /*document*/) {
  const auto nobody = [](const std::string&) {};
  PredictAnswer answer =
      answer_predict(call.library, call.options.predict, nobody, call.progress());
  answer.details.sure = sure_plan(call.library, answer);
  return prediction_report(answer);
}

std::string report_of_search(const ReadCall& /*call*/, const std::string& document) {
  return search_report(document);
}

std::string validate_report(const ReadCall& call, const std::string& /*document*/) {
  const ValidateAnswer all = validated(call);
  return validation_report(all.runs, all.groups);
}

}  // namespace

std::span<const CallCommand> program_commands() {
  static const std::array kCommands{
      CallCommand{"validate",
                  [](CLI::App& app, CallOptions& to) { add_validate(app, to.validate, kNoAction); },
                  validate_call},
      CallCommand{"calibrate runs",
                  [](CLI::App& app, CallOptions& to) {
                    add_calibrate_runs(*app.add_subcommand("calibrate")->fallthrough(), to.runs,
                                       kNoAction);
                  },
                  runs_call}};
  return kCommands;
}

std::vector<GapCause> program_causes(const Library& library, const PredictAnswer& answer) {
  const auto& measured = answer.job.measured;
  if (!measured || !measured->sec_per_iter) return {};
  const double seconds = portable::log(measured->sec_per_iter->value);
  const ObservedRun run{
      nullptr, answer.scenario, &LogAnswer::time, {Observation::Kind::value, seconds}};
  return gap_causes({run}, shipped_uncertainty(library));
}

std::span<const CallReport> program_reports() {
  static constexpr std::array kReports{CallReport{"predict", predict_report},
                                       CallReport{"search", report_of_search},
                                       CallReport{"validate", validate_report}};
  return kReports;
}

}  // namespace prequel
