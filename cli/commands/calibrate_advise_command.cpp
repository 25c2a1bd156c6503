#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/runs/advise.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"
#include "cli/text/terminal.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

std::string report_json(const AdviceReport& report, std::size_t top) {
  Json advices = Json::array();
  for (std::size_t i = 0; i < top; ++i) {
    const Advice& one = report.advices[i];
    advices.push_back({{"measurement", one.measurement},
                       {"minutes", one.minutes},
                       {"half_width", one.half_width}});
  }
  return Json{{"schema", "prequel/advice/1"},
              {"level", kIntervalLevel},
              {"half_width", report.half_width},
              {"measurements", advices}}
             .dump(2) +
         "\n";
}

std::string report_text(const AdviceReport& report, std::size_t top, std::size_t width) {
  const auto percent = [](double half) { return fmt::format("± {:.1f} %", 100 * half); };
  const std::string now = percent(report.half_width);
  TextTable table({"measure", "minutes", "80 % interval then"});
  std::size_t shown = 0;
  for (; shown < top && percent(report.advices[shown].half_width) != now; ++shown) {
    const Advice& one = report.advices[shown];
    table.add({one.measurement, fmt::format("{:.0f}", one.minutes), percent(one.half_width)});
  }
  std::string text = fmt::format("The prediction is good to {} (80 % interval); ", now);
  if (shown == 0) return text + "no single measurement would narrow it by 0.1 %\n";
  text += "what would narrow it\n" + table.text(width);
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
