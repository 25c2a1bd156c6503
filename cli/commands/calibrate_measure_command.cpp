#include "cli/commands/commands.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "calibrate/fit/job_works.hpp"
#include "cli/calibrate/calibrate_options.hpp"
#include "cli/text/terminal.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
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

}  // namespace prequel
