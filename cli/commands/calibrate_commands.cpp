#include "cli/commands/commands.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/fit/check.hpp"
#include "calibrate/fit/comparison.hpp"
#include "calibrate/fit/job_works.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "calibrate/runs/advise.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/calibrate/calibration_format.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/json/json.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "cli/text/terminal.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
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

namespace {

constexpr const char* kProgram = "prequel-measure";
constexpr int kExitDevice = 3;

/// Beside this program, as installed and as built, else as the shell finds it.
std::string program_path() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = self.parent_path() / kProgram;
  return std::filesystem::exists(beside, ignored) ? beside.string() : kProgram;
}

bool names_a_job(const JobRequest& request) {
  return request.job || request.model || request.device || request.cluster || request.software ||
         !request.overrides.empty();
}

/// The points of the job, a line each.
std::string shapes_of(const CommonOptions& common, const JobRequest& request) {
  const Library library(common.data_directories);
  const Job job = read_job(library, translated(request, {}, library, tell_stderr(common.quiet)));
  std::string lines;
  for (const Work& work : job_works(resolve(job).scenario)) {
    lines += work_text(work) + "\n";
  }
  return lines;
}

/// A file that lives as long as this process, whatever program it runs. Throws InputError.
std::string lasting_file(const std::string& content) {
  const int file = memfd_create("shapes", 0);
  if (file < 0 ||
      write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    throw InputError("calibrate measure: no memory for the shapes of the job");
  }
  return fmt::format("/proc/self/fd/{}", file);
}

}  // namespace

int run_calibrate_measure(const CommonOptions& common, const CalibrateMeasureOptions& options) {
  std::vector<std::string> words{kProgram,       "--backend", options.backend, "--budget",
                                 options.budget, "--output",  options.output};
  if (options.resume) words.emplace_back("--resume");
  if (names_a_job(options.request)) {
    words.insert(words.end(), {"--shapes", lasting_file(shapes_of(common, options.request))});
  }
  if (common.quiet) words.emplace_back("--quiet");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(program_path().c_str(), arguments.data());
  fmt::print(stderr,
             "prequel: {0} is neither beside prequel nor in PATH; cmake --build build/release "
             "--target {0} builds it\n",
             kProgram);
  return kExitDevice;
}

namespace {

/// The file of the kind that is asked for, of the first row, under the name that is asked for.
std::string one_file(const std::vector<CalibratedFile>& files,
                     const CalibrateRunsOptions& options) {
  const std::string folder = options.kind == "cluster" ? "clusters" : "software";
  const auto found = std::ranges::find(files, folder, &CalibratedFile::folder);
  if (found == files.end()) {
    throw InputError("--kind " + options.kind + ": none of the constants is of it");
  }
  auto json = nlohmann::ordered_json::parse(found->text);
  json["name"] = options.name;
  return json.dump(2) + "\n";
}

}  // namespace

int run_calibrate_runs(const CommonOptions& common, const CalibrateRunsOptions& options) {
  if (!options.output.empty() && options.name.empty()) {
    throw InputError("--output: needs --name, the new file's name");
  }
  const Library library(common.data_directories);
  const RunsAnswer answer = answer_calibrate_runs(library, options);
  for (const std::string& warning : answer.warnings) {
    if (!common.quiet) fmt::print(stderr, "warning: {}\n", warning);
  }
  fmt::print("{}", options.format == OutputFormat::json
                       ? run_fit_json(answer, {common.call, library.inputs()})
                       : run_fit_text(answer));
  if (!options.output.empty()) write_file(options.output, one_file(answer.files, options));
  if (!options.output_directory.empty()) write_data_folder(answer.files, options.output_directory);
  return kExitDone;
}

}  // namespace prequel
