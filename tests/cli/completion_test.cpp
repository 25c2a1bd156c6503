#include "cli/command_tree.hpp"

#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

/// Returns bash's offers for a line whose last word is being typed, one candidate a line.
std::string bash_offers(const std::string& line) {
  const TemporaryFolder folder;
  write_file(folder / "script", run_prequel("completion bash").out);
  const std::string command = "cd '" PREQUEL_SOURCE_DIR
                              "' && PREQUEL_DATA=data PATH=\"$(dirname '" PREQUEL_PROGRAM
                              "'):$PATH\" bash -c 'source " +
                              (folder / "script") + "; COMP_WORDS=(" + line +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _prequel; printf "
                              "\"%s\\n\" \"${COMPREPLY[@]}\"' >" +
                              (folder / "out");
  CHECK(std::system(command.c_str()) == 0);
  return read_file(folder / "out");
}

/// Tests whether the shell accepts the script; true where that shell is not installed.
bool parses(const std::string& shell) {
  const TemporaryFolder folder;
  write_file(folder / "script", run_prequel("completion " + shell).out);
  const std::string command =
      "! command -v " + shell + " >/dev/null || " + shell + " -n " + (folder / "script");
  return std::system(command.c_str()) == 0;
}

TEST_CASE("bash completes commands, sub-commands and options") {
  CHECK(bash_offers("prequel pre") == "predict\n");
  CHECK(bash_offers("prequel calibrate m") == "measure\n");
  CHECK(bash_offers("prequel predict job.json --prec") == "--precision\n");
}

TEST_CASE("bash completes the values of options: fixed ones, and names of the library") {
  CHECK(bash_offers("prequel predict --recompute \"\"") == "none\nselective\nfull\n");
  CHECK(bash_offers("prequel predict --cluster jean-zay-a") == "jean-zay-a100\n");
  CHECK(bash_offers("prequel validate --color ne") == "never\n");
  CHECK(bash_offers("prequel show cl") == "clusters\n");
  CHECK(bash_offers("prequel predict bloom-176b-j") == "bloom-176b-jean-zay\n");
}

TEST_CASE("each shell accepts its script") {
  CHECK(parses("bash"));
  CHECK(parses("zsh"));
  CHECK(parses("fish"));
}

TEST_CASE("quotes in a help text do not end the word in a script") {
  const CommandDescription program{
      "tool", "A tool", "  tool\n", {{{"--dry"}, "", {}, "don't do it"}}, {}, {}};
  const auto no_names = [](const std::string& /*kind*/) { return std::vector<std::string>(); };
  CHECK(completions(program, {}, "--", no_names) == "--dry\tdon't do it\n");
}

}  // namespace
}  // namespace prequel
