#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include "calibrate/fit/row_filter.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "cli/flags/common_options.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kShownProblems = 5;

}  // namespace

MeasurementFile read_chosen_rows(const CommonOptions& common, const std::vector<std::string>& files,
                                 const std::vector<std::string>& where) {
  std::vector<RowFilter> filters;
  for (const std::string& text : where) filters.push_back(parse_row_filter(text));
  MeasurementFile file = read_measurements(files);
  std::erase_if(file.points,
                [&](const Measurement& point) { return !meets(point.fields, filters); });
  if (file.points.empty()) throw InputError("--where: no measured point is left");
  if (common.quiet) return file;
  for (const std::string& note : file.notes) fmt::print(stderr, "{}\n", printable(note, 1000));
  for (std::size_t i = 0; i < std::min(kShownProblems, file.unread.size()); ++i) {
    fmt::print(stderr, "not read: {}\n", printable(file.unread[i], 200));
  }
  if (file.unread.size() > kShownProblems) {
    fmt::print(stderr, "not read: {} more\n", file.unread.size() - kShownProblems);
  }
  return file;
}

}  // namespace prequel
