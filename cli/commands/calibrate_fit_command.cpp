#include "cli/commands/commands.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fitted_file.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "calibrate/validate/usual_inputs.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/calibrate/calibration_format.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/text/exit_status.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "hw/cluster.hpp"

namespace prequel {
namespace {

constexpr const char* kUsualDevice = "a100-sxm-80gb";
constexpr const char* kUsualCluster = "dgx-a100";

struct Fitted {
  std::string text;  ///< of the new file
  std::vector<FitReport> reports;
  std::vector<std::string> left_out;  ///< what was measured and keeps the base's constants
};

bool is_known(const Library& library, const std::string& kind, const std::string& name) {
  const std::vector<std::string> names = library.names(kind);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The device that the measurement says it was made on; nothing where it does not say.
std::optional<std::string> measured_device(const Library& library, const MeasurementFile& file) {
  const auto said = [&](const char* key) {
    const auto found = file.context.find(key);
    return found == file.context.end() ? std::string() : found->second;
  };
  if (said("backend") == "cpu") return "cpu";
  if (said("device").empty()) return {};
  if (const auto known = usual_device(library, said("device"))) return known;
  throw InputError(fmt::format(
      "calibrate fit: measured on {}, which no device file knows; --device NAME of a similar one "
      "would do (prequel show devices)",
      in_quotes(said("device"))));
}

/// The file that gives what is not fitted: the one asked for, else the one of that name, else the
/// usual one, with a warning.
std::string base_name(const Library& library, const CalibrateFitOptions& options,
                      const std::string& kind, const std::optional<std::string>& asked,
                      const char* usual) {
  if (asked) return *asked;
  if (is_known(library, kind, options.name)) return options.name;
  fmt::print(
      stderr,
      "warning: no --{}: peaks, sizes, links and all else that is not fitted is taken from {}\n",
      options.kind, usual);
  return usual;
}

/// The command that makes the file again, files without their folders.
std::string command_text(const CalibrateFitOptions& options, const std::string& base) {
  std::string command = "prequel calibrate fit";
  for (const std::string& file : options.files) command += " " + file_name(file);
  for (const std::string& filter : options.where) command += fmt::format(" --where '{}'", filter);
  if (options.scale_per != "source") command += " --scale-per " + options.scale_per;
  if (options.folds != 2) command += fmt::format(" --folds {}", options.folds);
  command +=
      fmt::format(" --kind {0} --{0} {1} --name {2}", options.kind, file_name(base), options.name);
  const bool has_device = options.kind == "cluster" && options.device;
  return has_device ? command + " --device " + *options.device : command;
}

Fitted fit_device(const Library& library, const CalibrateFitOptions& options,
                  const MeasurementFile& file) {
  const std::vector<Measurement>& points = file.points;
  std::optional<std::string> asked = options.device;
  if (!asked && !is_known(library, "devices", options.name)) asked = measured_device(library, file);
  const std::string base = base_name(library, options, "devices", asked, kUsualDevice);
  const Document document = library.open("devices", base);
  Device device = document.read_once(read_device);
  const FitOptions how{options.folds, options.scale_per, asked.has_value() || base == options.name};
  const DeviceFits fits = fit_device(points, how, device);
  const bool products = std::ranges::any_of(
      points, [](const Measurement& point) { return std::holds_alternative<Gemm>(point.what); });
  if (products && fits.gemm.empty() && !asked && base != options.name) {
    throw InputError(fmt::format(
        "calibrate fit: products were measured, but too few of 1 GFLOP or more to fit, and those "
        "of {} are another device's; --device NAME would do, of one that is like it",
        base));
  }
  Fitted fitted;
  fitted.reports = all_reports(fits);
  if (fitted.reports.empty()) {
    throw InputError(
        "calibrate fit: too few points for a device: it takes 30 forward products of 1 GFLOP or "
        "more (3 where --device names the device that they were measured on, for its rate alone), "
        "8 runs of a memory-bound kernel, 8 of an attention kernel, or 4 pinned copies of 1 MiB or "
        "more");
  }
  fitted.left_out = not_fitted(points, fitted.reports);
  fitted.text = fitted_device_file(read_file(document.file()), device, fits,
                                   {options.name, command_text(options, base), {}});
  return fitted;
}

Fitted fit_cluster(const Library& library, const CalibrateFitOptions& options,
                   const std::vector<Measurement>& points) {
  const std::string base = base_name(library, options, "clusters", options.cluster, kUsualCluster);
  if (options.device) (void)library.open("devices", *options.device).read_once(read_device);
  const Document document = library.open("clusters", base);
  Cluster cluster = document.read_once(read_cluster);
  const FitOptions fit{options.folds, options.scale_per, false};
  const auto node = fit_collectives(points, fit, cluster.node);
  const auto network = fit_network(points, fit, cluster);
  Fitted fitted;
  fitted.reports = node;
  fitted.reports.insert(fitted.reports.end(), network.begin(), network.end());
  if (fitted.reports.empty()) {
    throw InputError(
        "calibrate fit: too few points for a cluster: it takes 8 collectives inside one node, or "
        "8 across nodes");
  }
  fitted.text =
      fitted_cluster_file(read_file(document.file()), cluster, node, network,
                          {options.name, command_text(options, base), options.device.value_or("")});
  return fitted;
}

/// Fitted kernels that no prediction is made of: stacks fuse them with others.
std::string priced_alone(const std::vector<FitReport>& reports) {
  using enum StreamKind;
  std::string alone;
  for (const StreamKind kind :
       {residual_add, layer_norm, rms_norm, gelu, swiglu, rope, copy, quantize_absmax}) {
    if (std::ranges::find(reports, name(kind), &FitReport::what) == reports.end()) continue;
    alone += fmt::format("{}{}", alone.empty() ? "" : ", ", name(kind));
  }
  return alone;
}

/// Points of nccl-tests name no source, which is asked for unless the user says another column.
void check_scale_column(const std::string& column, const std::vector<Measurement>& points) {
  if (column.empty() || column == "source") return;
  std::set<std::string> known;
  for (const Measurement& point : points) {
    for (const auto& [name, cell] : point.fields) known.insert(name);
  }
  if (known.contains(column)) return;
  throw InputError(fmt::format("--scale-per {}: the measurements have no column {}{}",
                               printable(column), in_quotes(column),
                               did_you_mean(column, {known.begin(), known.end()})));
}

}  // namespace

int run_calibrate_fit(const CommonOptions& common, const CalibrateFitOptions& options) {
  const MeasurementFile file = read_chosen_rows(common, options.files, options.where);
  check_scale_column(options.scale_per, file.points);
  const Library library(common.data_directories);
  const Fitted fitted = options.kind == "device" ? fit_device(library, options, file)
                                                 : fit_cluster(library, options, file.points);
  if (!common.quiet) {
    for (const std::string& line : fitted.left_out) {
      fmt::print(stderr, "not fitted: {}\n", line);
    }
    if (const std::string alone = priced_alone(fitted.reports); !alone.empty()) {
      fmt::print(stderr,
                 "note: {}: kernels one by one, as calibrate check prices them; predictions price "
                 "fused ones as fused_pointwise\n",
                 alone);
    }
    for (const FitReport& report : fitted.reports) {
      for (const std::string& warning : report.warnings) {
        fmt::print(stderr, "warning: {}: {}\n", report.what, warning);
      }
    }
  }
  const std::string report =
      options.format == OutputFormat::json ? fit_json(fitted.reports) : fit_text(fitted.reports);
  if (options.output == "-") {
    fmt::print("{}", fitted.text);
    if (!common.quiet) fmt::print(stderr, "{}", report);
  } else {
    write_file(options.output, fitted.text);
    fmt::print("{}", report);
  }
  return kExitDone;
}

}  // namespace prequel
