#include "cli/report/report.hpp"

#include <doctest/doctest.h>

#include "cli/report/report_page.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

const bool kHasReports = *kReportPage != '\0';

TEST_CASE("a report is one file that asks for no other" * doctest::skip(!kHasReports)) {
  const TemporaryFolder folder;
  const std::string file = folder / "report.html";
  CHECK(run_prequel("predict bloom-176b-jean-zay --report " + file).status == 0);
  const std::string page = read_file(file);
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("<title>bigscience-181b on 48 nodes - prequel</title>") != std::string::npos);
  for (const char* loads : {" src=", "<link", "@import", "url(http", "@DATA@"}) {
    CAPTURE(loads);
    CHECK(page.find(loads) == std::string::npos);
  }
  CHECK(page.size() < 3000000);
}

TEST_CASE("text of the user cannot end the script that it stands in" *
          doctest::skip(!kHasReports)) {
  const std::string page = search_report(R"({"plans": [], "name": "</script><b>"})");
  CHECK(page.find("\\u003c/script>\\u003cb>") != std::string::npos);
  CHECK(page.find("</script><b>") == std::string::npos);
}

TEST_CASE("a build without reports says why" * doctest::skip(kHasReports)) {
  const ProgramResult result = run_prequel("predict bloom-176b-jean-zay --report report.html");
  CHECK(result.status == 2);
  CHECK(result.err.find("--report: this build has no reports, since ") != std::string::npos);
}

}  // namespace
}  // namespace prequel
