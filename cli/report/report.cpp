#include "cli/report/report.hpp"

#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/report/drawing.hpp"
#include "cli/report/report_page.hpp"
#include "cli/text/version.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

void replace(std::string& text, const std::string& marker, const std::string& value) {
  const std::size_t place = text.find(marker);
  if (place != std::string::npos) text.replace(place, marker.size(), value);
}

/// JSON that may stand in a script element: no `<`, so that none can end it.
std::string script_safe(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return out;
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string page(const std::string& title, Json data) {
  std::string text = kReportPage;
  if (text.empty()) {
    throw InputError(fmt::format("--report: this build has no reports, since {}", kReportMissing));
  }
  data["program"] = version();
  // The title comes first: what is reported may itself hold a marker.
  replace(text, "@TITLE@", html_text(title));
  replace(text, "@DATA@", script_safe(data));
  return text;
}

/// A report stays small enough to open at once.
constexpr std::size_t kMostSlices = 30000;

}  // namespace

std::string prediction_report(const PredictAnswer& answer) {
  const Scenario& scenario = answer.scenario;
  Json data{{"kind", "prediction"}, {"prediction", Json::parse(prediction_json(answer))}};
  data.update(drawing_json(answer, kMostSlices));
  return page(fmt::format("{} on {} nodes - prequel", scenario.model.name, scenario.plan.nodes),
              std::move(data));
}

std::string validation_report(const std::vector<ValidatedRun>& runs,
                              const std::vector<ValidationGroup>& groups) {
  Json axes = Json::array();
  for (const ValidatedRun& run : runs) {
    Json cells = Json::object();
    for (const auto& [column, value] : run.run.cells) {
      const bool measured = column == "id" || column == "notes" || column == "sec_per_iter" ||
                            column == "mem_gib" || column == "tflops_per_gpu" || column == "mfu" ||
                            column == "hfu" || column == "status";
      if (!measured) cells[column] = value;
    }
    axes.push_back(std::move(cells));
  }
  return page("Predicted against measured - prequel",
              {{"kind", "validation"},
               {"validation", Json::parse(validation_json(runs, groups))},
               {"axes", std::move(axes)}});
}

std::string search_report(const std::string& search_json, const std::vector<FoundPlan>& cloud) {
  return page("Plans - prequel", {{"kind", "search"},
                                  {"search", Json::parse(search_json)},
                                  {"cloud", cloud_json(cloud, kMostSlices)}});
}

}  // namespace prequel
