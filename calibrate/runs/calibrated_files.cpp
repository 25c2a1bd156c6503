#include "calibrate/runs/calibrated_files.hpp"

#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/validate/run_inputs.hpp"
#include "calibrate/validate/usual_inputs.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/json_layout.hpp"
#include "models/job/usual_software.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

/// Correlations below this are left out of the file.
constexpr double kLeastCorrelation = 0.1;

/// A number of a file after the fit.
struct Moved {
  double value{};
  double sd{};  ///< relative
};

/// The numbers that the fit moves, by path, for a scenario of these files: the spread as what one
/// deviation of u up and down makes of the number.
std::map<std::string, Moved> moved_numbers(const Scenario& scenario, const Uncertainty& uncertainty,
                                           const RunFitReport& report) {
  std::map<std::string, Moved> numbers;
  for (const QuantityFit* fit : {&report.time, &report.memory}) {
    for (const CalibratedConstant& one : fit->constants) {
      const auto at = [&](double u) { return fields_at(scenario, uncertainty, one.constant, u); };
      const auto before = fields_of(scenario, one.constant);
      const auto value = at(one.deviation);
      const auto above = at(one.deviation + one.sd);
      const auto below = at(one.deviation - one.sd);
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i].value == before[i].value || value[i].value <= 0) continue;
        const double sd = 0.5 * std::abs(above[i].value - below[i].value) / value[i].value;
        numbers[value[i].path] = {value[i].value, sd};
      }
    }
  }
  return numbers;
}

/// Sets the numbers whose path begins with `input` ("software"); returns how many.
std::size_t set_numbers(Document& file, const std::string& input,
                        const std::map<std::string, Moved>& numbers) {
  std::size_t count = 0;
  for (const auto& [path, moved] : numbers) {
    if (!path.starts_with(input + ".")) continue;
    const double sd = std::max(moved.sd, 1e-4);
    file.set(path.substr(input.size() + 1),
             fmt::format("{{\"value\": {:.6g}, \"sd\": {:.3g}}}", moved.value, sd));
    ++count;
  }
  return count;
}

Json calibration_json(const RunFitReport& report, const std::string& origin) {
  Json spreads = Json::object(), correlations = Json::array();
  for (const QuantityFit* fit : {&report.time, &report.memory}) {
    for (const CalibratedConstant& one : fit->constants) {
      if (one.path == name(one.constant)) spreads[one.path] = one.sd;
    }
    for (std::size_t i = 0; i < fit->order.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double value =
            fit->correlation(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
        if (std::abs(value) < kLeastCorrelation) continue;
        correlations.push_back({{"first", name(fit->order[i])},
                                {"second", name(fit->order[j])},
                                {"value", std::round(value * 1e3) / 1e3}});
      }
    }
  }
  return {{"origin", origin},
          {"time_noise", report.time.rows > 0 ? report.time.noise : report.memory.noise},
          {"spreads", spreads},
          {"correlations", correlations}};
}

CalibratedFile finished(const std::string& folder, const std::string& name, const Document& file,
                        const std::string& note) {
  nlohmann::ordered_json content(file.json());
  content["name"] = name;
  content["note"] = note;
  content.erase("stands_for");  // it has constants of its own now
  content.erase("common");      // and no other than others of these
  return {folder, name, content.dump(2) + "\n"};
}

}  // namespace

std::vector<CalibratedFile> calibrated_files(const Library& library,
                                             const std::vector<MeasuredRun>& runs,
                                             const Uncertainty& uncertainty,
                                             const RunFitReport& report,
                                             const std::string& suffix) {
  const std::string note = fmt::format(
      "constants with a spread: {} times and {} memory figures of measured runs by "
      "`prequel calibrate runs`; held-out error of times {:.1f} %",
      report.time.rows, report.memory.rows, 100 * report.time.held_out.mape);
  std::vector<CalibratedFile> files;
  std::set<std::string> done;
  for (const ObservedRun& row : observed_times(library, runs)) {
    const Scenario& scenario = row.scenario;
    const auto numbers = moved_numbers(scenario, uncertainty, report);
    const std::string device_name = scenario.device.name + suffix;
    const std::string software_name = scenario.software.name + suffix;
    bool device_changed = false;
    if (done.insert("devices " + device_name).second) {
      Document device = library.open("devices", scenario.cluster.device);
      device_changed = set_numbers(device, "device", numbers) > 0;
      if (device_changed) files.push_back(finished("devices", device_name, device, note));
    }
    if (done.insert("software " + software_name).second) {
      const bool experts = scenario.model.has_experts();
      Document software = row.run->software.empty()
                              ? library.open("software", usual_software(library, scenario.cluster,
                                                                        experts, row.run->plan))
                              : usual_stack(library, *row.run, row.run->software, experts);
      set_numbers(software, "software", numbers);
      if (!report.time.choices.empty()) {  // the names that the runs made most probable
        const StackChoice& best = report.time.choices.front().choice;
        for (std::size_t i = 0; i < best.size(); ++i) {
          if (!best[i].empty()) software.set(std::string(kStackNames[i]), best[i]);
        }
      }
      software.set("calibration", calibration_json(report, note).dump());
      if (report.time.held_out.n > 0) {
        software.set("error.sec_per_iter",
                     fmt::format("{:.3g}", std::min(1.0, report.time.held_out.mape)));
        software.set("error.basis", "held-out error of the calibration by runs");
      }
      files.push_back(finished("software", software_name, software, note));
    }
    if (done.insert("clusters " + own_name(scenario.cluster)).second) {
      Document cluster = cluster_document(library, *row.run);
      const bool moved = set_numbers(cluster, "cluster", numbers) > 0;
      if (device_changed) cluster.set("device", device_name);
      cluster.set("software", software_name);
      if (moved || !suffix.empty()) {
        files.push_back(finished("clusters", own_name(scenario.cluster) + suffix, cluster, note));
      }
    }
  }
  return files;
}

}  // namespace prequel
