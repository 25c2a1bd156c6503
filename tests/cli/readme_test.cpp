#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/report/report_page.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

/// The README and the pages of docs/, as paths from the root.
std::vector<std::string> pages() {
  std::vector<std::string> found{"README.md"};
  const std::filesystem::path root = PREQUEL_SOURCE_DIR;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    found.push_back(entry.path().lexically_relative(root).string());
  }
  std::ranges::sort(found);
  return found;
}

std::string text_of(const std::string& page) {
  return read_file(PREQUEL_SOURCE_DIR "/" + page);
}

/// Puts what stands for a file of the reader's into `folder`.
void replace_file(std::string& call, const std::string& name, const TemporaryFolder& folder) {
  if (const std::size_t place = call.find(name); place != std::string::npos) {
    call.replace(place, name.size(), folder / name);
  }
}

TEST_CASE("every call of prequel in the README and the pages does what it says") {
  const std::string program = "prequel ";
  std::set<std::string> known;
  for (const std::string& page : pages()) {
    CAPTURE(page);
    const TemporaryFolder folder;
    std::istringstream lines(text_of(page));
    for (std::string line; std::getline(lines, line);) {
      const bool shown_only = line.find("mine.csv") != std::string::npos;
      const bool reports = line.find("report.html") != std::string::npos;
      if (!line.starts_with(program) || shown_only || !known.insert(line).second) continue;
      if (reports && *kReportPage == '\0') continue;  // a build without reports
      CAPTURE(line);
      std::string call = line.substr(program.size());
      if (const std::size_t pipe = call.find("| prequel "); pipe != std::string::npos) {
        call.replace(pipe, 9, "| '" PREQUEL_PROGRAM "'");
      }
      const std::string own = "ours.json";
      const bool writes_own = call.ends_with("> " + own);
      if (writes_own) call.erase(call.size() - own.size() - 2);
      for (const char* file : {"report.html", "trace.json", "memory.pickle", "ours.json"}) {
        replace_file(call, file, folder);
      }
      const ProgramResult result = run_prequel(call);
      CHECK(result.status == 0);
      CHECK_FALSE(result.out.empty());
      if (writes_own) write_file(folder / own, result.out);
    }
  }
}

TEST_CASE("every link of the README and the pages leads to a file") {
  const std::regex link("\\]\\(([^)#]+)[^)]*\\)");
  for (const std::string& page : pages()) {
    const std::string text = text_of(page);
    const auto folder = (std::filesystem::path(PREQUEL_SOURCE_DIR) / page).parent_path();
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      const std::string target = (*found)[1];
      if (target.starts_with("http")) continue;
      CHECK_MESSAGE(std::filesystem::exists(folder / target), page, ": ", target);
    }
  }
}

TEST_CASE("the README is a front door, not the house") {
  const std::string readme = text_of("README.md");
  CHECK(std::ranges::count(readme, '\n') <= 200);
}

TEST_CASE("the program that a page shows is the one that the tests build") {
  const std::string page = text_of("docs/install.md");
  const std::string program = read_file(PREQUEL_SOURCE_DIR "/tests/package/consumer/main.cpp");
  CHECK(page.find("```cpp\n" + program + "```\n") != std::string::npos);
}

}  // namespace
}  // namespace prequel
