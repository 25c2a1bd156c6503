#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "calibrate/fit/comparison.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/json/json.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

using NamedComparison = std::pair<std::string, Comparison>;

std::string change(double ratio) {
  return fmt::format("{:+.1f}", 100.0 * (ratio - 1.0));
}

std::string comparison_text(const std::string& reference, const NamedComparison& named,
                            std::size_t worst) {
  const auto& [file, comparison] = named;
  TextTable groups({"operator", "points", "beyond noise", "median %", "P10", "P90"});
  for (const ComparedGroup& group : comparison.groups) {
    groups.row(group.operator_name, group.points, group.beyond_noise, change(group.median),
               change(group.p10), change(group.p90));
  }
  std::string text =
      fmt::format("{} against {}: change of time, + is slower\n{}", file, reference, groups.text());
  if (comparison.only_reference + comparison.only_other > 0) {
    text += fmt::format("  not compared: {} points only in {}, {} only in {}\n",
                        comparison.only_reference, reference, comparison.only_other, file);
  }
  TextTable points({"largest changes", "before s", "after s", "%"});
  for (std::size_t i = 0; i < std::min(worst, comparison.points.size()); ++i) {
    const ComparedPoint& point = comparison.points[i];
    points.row(point.what, fmt::format("{:.4g}", point.reference.value),
               fmt::format("{:.4g}", point.time.value), change(point.ratio()));
  }
  return worst > 0 ? text + points.text() : text;
}

Json comparison_json(const NamedComparison& named, std::size_t worst) {
  const auto& [file, comparison] = named;
  Json groups = list_json(comparison.groups, [](const ComparedGroup& group) {
    return Json{{"operator", group.operator_name},
                {"points", group.points},
                {"beyond_noise", group.beyond_noise},
                {"median_ratio", group.median},
                {"p10_ratio", group.p10},
                {"p90_ratio", group.p90}};
  });
  const std::size_t shown = std::min(worst, comparison.points.size());
  Json points = list_json(std::span(comparison.points).first(shown), [](const auto& point) {
    return Json{{"what", point.what},
                {"reference_s", point.reference.value},
                {"time_s", point.time.value},
                {"ratio", point.ratio()},
                {"beyond_noise", point.beyond_noise}};
  });
  return {{"file", file},
          {"only_reference", comparison.only_reference},
          {"only_other", comparison.only_other},
          {"groups", groups},
          {"points", points}};
}

}  // namespace

int run_calibrate_compare(const CommonOptions& /*common*/, const CalibrateCompareOptions& options) {
  const std::string& reference = options.files.front();
  const MeasurementFile before = read_measurements(reference);
  std::vector<NamedComparison> comparisons;
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    const std::string& file = options.files[i];
    comparisons.emplace_back(file, compare(before.points, read_measurements(file).points));
    if (comparisons.back().second.points.empty()) {
      throw InputError(fmt::format("{}: no point in common with {}", file, reference));
    }
  }
  std::stable_sort(comparisons.begin(), comparisons.end(), [](const auto& a, const auto& b) {
    return a.second.median() > b.second.median();
  });
  const auto worst = static_cast<std::size_t>(options.worst);
  if (options.format == OutputFormat::json) {
    Json files =
        list_json(comparisons, [&](const auto& one) { return comparison_json(one, worst); });
    fmt::print("{}", document_text({{"schema", "prequel/comparison/1"},
                                    {"reference", reference},
                                    {"files", files}}));
    return kExitDone;
  }
  if (comparisons.size() > 1) {
    TextTable ranking({"slowest first", "median %"});
    for (const auto& [file, one] : comparisons) ranking.row(file, change(one.median()));
    fmt::print("{}\n", ranking.text());
  }
  for (const NamedComparison& named : comparisons) {
    fmt::print("{}", comparison_text(reference, named, worst));
  }
  return kExitDone;
}

}  // namespace prequel
