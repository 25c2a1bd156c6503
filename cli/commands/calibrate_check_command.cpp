#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include "calibrate/fit/check.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/calibrate/calibration_format.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/text/exit_status.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

Check checked(const Library& library, const CalibrateCheckOptions& options,
              const std::vector<Measurement>& points) {
  const CheckOptions groups{options.by, options.scale_per};
  if (options.device) {
    const Device device = library.open("devices", *options.device).read_once(read_device);
    return check(
        points, [&](const Measurement& point) { return predict(device, point); }, groups);
  }
  const Cluster cluster = library.open("clusters", *options.cluster).read_once(read_cluster);
  return check(
      points, [&](const Measurement& point) { return predict(cluster, point); }, groups);
}

}  // namespace

int run_calibrate_check(const CommonOptions& common, const CalibrateCheckOptions& options) {
  if (options.device.has_value() == options.cluster.has_value()) {
    throw InputError("calibrate check: give either --device or --cluster");
  }
  const MeasurementFile file = read_chosen_rows(common, options.files, options.where);
  const Check result = checked(Library(common.data_directories), options, file.points);
  if (!common.quiet) {
    for (const std::string& reason : result.not_predicted) {
      fmt::print(stderr, "not predicted: {}\n", reason);
    }
  }
  switch (options.format) {
    case OutputFormat::text: fmt::print("{}", check_text(result)); break;
    case OutputFormat::json: fmt::print("{}", check_json(result)); break;
    case OutputFormat::csv: fmt::print("{}", check_csv(result)); break;
  }
  return kExitDone;
}

}  // namespace prequel
