#include "cli/text/terminal.hpp"

#include <doctest/doctest.h>

#include "cli/text/table.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

constexpr char kEscape = '\033';

/// Returns the output of `prequel predict` on a terminal of that many columns.
std::string on_terminal(int columns, const std::string& environment,
                        const std::string& flags = {}) {
  const TemporaryFolder folder;
  const std::string call = "stty cols " + std::to_string(columns) + "; " + environment +
                           " PREQUEL_DATA=data " PREQUEL_PROGRAM " predict bloom-176b-jean-zay" +
                           flags;
  const std::string command = "cd '" PREQUEL_SOURCE_DIR "' && script -qefc '" + call +
                              "' /dev/null </dev/null >" + (folder / "out");
  CHECK(std::system(command.c_str()) == 0);
  return read_file(folder / "out");
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0, begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    longest = std::max(longest, display_width(line));
    begin = end + 1;
  }
  return longest;
}

TEST_CASE("ink is there where the terminal shows colours, and nowhere else") {
  CHECK(inked({true, 80}, Ink::red, "oom") == "\033[31moom\033[0m");
  CHECK(inked({false, 80}, Ink::red, "oom") == "oom");
}

TEST_CASE("a line is at most as wide as the terminal, a file has no width") {
  CHECK(Terminal{false, 60}.at_most(98) == 60);
  CHECK(Terminal{false, 120}.at_most(98) == 98);
  CHECK(Terminal{}.at_most(98) == 98);
}

TEST_CASE("what goes into a file has no colours, unless they are asked for") {
  const std::string job = "predict bloom-176b-jean-zay";
  CHECK(run_prequel(job).out.find(kEscape) == std::string::npos);
  CHECK(run_prequel(job + " --color always").out.find(kEscape) != std::string::npos);
}

TEST_CASE("a terminal gets colours, unless NO_COLOR or a dumb terminal says no") {
  CHECK(on_terminal(120, "TERM=xterm").find(kEscape) != std::string::npos);
  CHECK(on_terminal(120, "TERM=xterm NO_COLOR=1").find(kEscape) == std::string::npos);
  CHECK(on_terminal(120, "TERM=dumb").find(kEscape) == std::string::npos);
}

TEST_CASE("how far samples with jitter are is said on a terminal, unless it is to be quiet") {
  const std::string jitter = " --jitter 0.1 --samples 3";
  CHECK(on_terminal(120, "TERM=dumb", jitter).find(" of 3 samples, ") != std::string::npos);
  CHECK(on_terminal(120, "TERM=dumb", jitter + " -q").find("samples, ") == std::string::npos);
  CHECK(run_prequel("predict bloom-176b-jean-zay" + jitter).err.find("samples, ") ==
        std::string::npos);
}

TEST_CASE("the answer fits into the terminal") {
  CHECK(longest_line(on_terminal(120, "TERM=xterm")) <= 120);
  CHECK(longest_line(on_terminal(72, "TERM=xterm")) <= 72);
}

}  // namespace
}  // namespace prequel
