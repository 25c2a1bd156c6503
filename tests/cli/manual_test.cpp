#include "cli/command_tree.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

TEST_CASE("text is printed literally: hyphens, backslashes and dots that begin a line") {
  const CommandDescription program{
      "tool", "Does a\\b", "  tool run-all\n", {{{"-n", "--no"}, "N", {}, ".5 of it"}}, {}, {}};
  const std::string page = manual_page(program, "tool 1.0");
  CHECK(page.starts_with(".TH TOOL 1 \"\" \"tool 1.0\"\n.SH NAME\ntool \\- Does a\\eb\n"));
  CHECK(page.find(".nf\n  tool run\\-all\n.fi\n") != std::string::npos);
  CHECK(page.find(".TP\n\\fB\\-n, \\-\\-no\\fR \\fIN\\fR\n\\&.5 of it\n") != std::string::npos);
}

TEST_CASE("the manual names every option that help names") {
  const std::string page = run_prequel("manual").out;
  int options = 0;
  for (const char* command : {"predict", "validate", "calibrate runs"}) {
    std::istringstream help(run_prequel(std::string(command) + " --help").out);
    for (std::string word; help >> word;) {
      if (!word.starts_with("--")) continue;
      std::string literal;
      for (const char c : word.substr(0, word.find_first_of(",{"))) {
        literal += c == '-' ? "\\-" : std::string(1, c);
      }
      CAPTURE(word);
      CHECK(page.find(literal) != std::string::npos);
      ++options;
    }
  }
  CHECK(options > 30);
}

}  // namespace
}  // namespace prequel
