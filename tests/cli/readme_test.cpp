#include <doctest/doctest.h>

#include <sstream>

#include "cli/report_page.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

TEST_CASE("every call of prequel in the README does what it says") {
  std::istringstream readme(read_file(PREQUEL_SOURCE_DIR "/README.md"));
  const std::string program = "prequel ";
  const TemporaryFolder folder;
  int calls = 0;
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with(program) || line.find("mine.csv") != std::string::npos) continue;
    CAPTURE(line);
    std::string call = line.substr(program.size());
    if (const std::size_t pipe = call.find("| prequel "); pipe != std::string::npos) {
      call.replace(pipe, 9, "| '" PREQUEL_PROGRAM "'");
    }
    const std::string report = "report.html";
    if (const std::size_t place = call.find(report); place != std::string::npos) {
      if (*kReportPage == '\0') continue;  // a build without reports
      call.replace(place, report.size(), folder / report);
    }
    const std::string trace = "trace.json";
    if (const std::size_t place = call.find(trace); place != std::string::npos) {
      call.replace(place, trace.size(), folder / trace);
    }
    const std::string own = "ours.json";
    const bool writes_own = call.ends_with("> " + own);
    if (writes_own) {
      call.erase(call.size() - own.size() - 2);
    } else if (const std::size_t place = call.find(own); place != std::string::npos) {
      call.replace(place, own.size(), folder / own);
    }
    const ProgramResult result = run_prequel(call);
    CHECK(result.status == 0);
    CHECK_FALSE(result.out.empty());
    if (writes_own) write_file(folder / own, result.out);
    ++calls;
  }
  CHECK(calls >= 5);
}

TEST_CASE("the program that the README shows is the one that the tests build") {
  const std::string readme = read_file(PREQUEL_SOURCE_DIR "/README.md");
  const std::string program = read_file(PREQUEL_SOURCE_DIR "/tests/package/consumer/main.cpp");
  CHECK(readme.find("```cpp\n" + program + "```\n") != std::string::npos);
}

}  // namespace
}  // namespace prequel
