#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "cli/calibrate_options.hpp"

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

}  // namespace

int run_calibrate_measure(const CommonOptions& common, const CalibrateMeasureOptions& options) {
  std::vector<std::string> words{kProgram,       "--backend", options.backend, "--budget",
                                 options.budget, "--output",  options.output};
  if (options.resume) words.emplace_back("--resume");
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
