#include "cli/commands/commands.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "calibrate/runs/advise.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/json/json.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "cli/text/terminal.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

std::string report_json(const AdviceReport& report, std::size_t top) {
  const auto advice_json = [](const Advice& one) {
    return Json{
        {"measurement", one.measurement}, {"minutes", one.minutes}, {"half_width", one.half_width}};
  };
  return document_text(
      {{"schema", "prequel/advice/1"},
       {"level", kIntervalLevel},
       {"half_width", report.half_width},
       {"measurements", list_json(std::span(report.advices).first(top), advice_json)}});
}

std::string report_text(const AdviceReport& report, std::size_t top, std::size_t width) {
  const auto width_of = [](double half) { return "± " + percent(half) + " %"; };
  const std::string now = width_of(report.half_width);
  TextTable table({"measure", "minutes", "80 % interval then"});
  std::size_t shown = 0;
  for (; shown < top && width_of(report.advices[shown].half_width) != now; ++shown) {
    const Advice& one = report.advices[shown];
    table.row(one.measurement, fixed(one.minutes, 0), width_of(one.half_width));
  }
  std::string text = fmt::format("The prediction is good to {} (80 % interval); ", now);
  if (shown == 0) return text + "no single measurement would narrow it by 0.1 %\n";
  text += "these would narrow it\n" + table.text(width);
  if (shown < top) text += "  any other would narrow it by less than 0.1 %\n";
  return text;
}

}  // namespace

int run_calibrate_advise(const CommonOptions& common, const CalibrateAdviseOptions& options) {
  const Library library(common.data_directories);
  const Job job =
      read_job(library, translated(options.request, {}, library, tell_stderr(common.quiet)));
  const Uncertainty uncertainty = shipped_uncertainty(library);
  const AdviceReport report = advise(resolve(job).scenario, uncertainty);
  const std::size_t top =
      std::min(report.advices.size(), static_cast<std::size_t>(std::max(0, options.top)));
  fmt::print("{}", options.format == OutputFormat::json
                       ? report_json(report, top)
                       : report_text(report, top, terminal(stdout, common.color).width));
  return kExitDone;
}

}  // namespace prequel
