#include "cli/command_line.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

const std::string kCommands =
    "; the commands are predict, search, compare, import, show, validate, calibrate, mcp, "
    "completion, "
    "manual\n"
    "prequel --help shows how to call it\n";

/// Returns the message of a refused command line; it must refuse with status 2 and an empty answer.
std::string refusal(const std::string& arguments) {
  const ProgramResult result = run_prequel(arguments);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

TEST_CASE("an unknown command is refused with the nearest one and the list") {
  CHECK(refusal("prdict") == "prequel: prdict: unknown (did you mean \"predict\"?)" + kCommands);
}

TEST_CASE("no command at all is refused with the list") {
  CHECK(refusal("") == "prequel: no command" + kCommands);
}

TEST_CASE("an unknown option is refused with the nearest one, its value is not") {
  CHECK(refusal("predict bloom-176b-jean-zay --nodse 48") ==
        "prequel: --nodse: unknown (did you mean \"--nodes\"?)\n"
        "prequel --help shows how to call it\n");
  CHECK(refusal("--colour never show") ==
        "prequel: --colour: unknown (did you mean \"--color\"?)\n"
        "prequel --help shows how to call it\n");
}

TEST_CASE("an option without its value is refused") {
  CHECK(refusal("predict --nodes") ==
        "prequel: --nodes: a value is missing\nprequel --help shows how to call it\n");
}

TEST_CASE("what a command cannot do without is said to be missing") {
  CHECK(refusal("validate") == "prequel: runs: missing\nprequel --help shows how to call it\n");
}

TEST_CASE("a value that is no number is refused with what would do") {
  const std::string help = "\nprequel --help shows how to call it\n";
  CHECK(refusal("validate - --worst a </dev/null") ==
        "prequel: --worst: expected a number, got \"a\"" + help);
  CHECK(refusal("validate - --worst 2.5 </dev/null") ==
        "prequel: --worst: expected a whole number, got \"2.5\"" + help);
}

TEST_CASE("a flag that is given a value is refused, one of two names is not") {
  CHECK(refusal("show devices --json=3") ==
        "prequel: --json: stands alone; it takes no value\n"
        "prequel --help shows how to call it\n");
  for (const char* value : {"no", "1", "true"}) {
    const std::string flag = std::string("--quiet=") + value;
    CHECK(refusal(flag + " show").starts_with("prequel: --quiet: stands alone"));
  }
  CHECK(refusal("show devices --json=true").starts_with("prequel: --json: stands alone"));
  CHECK(run_prequel("predict bloom-176b-jean-zay --set=plan.sequence_parallel=true").status == 0);
  CHECK(run_prequel("predict bloom-176b-jean-zay --no-sequence-parallel").status == 0);
}

TEST_CASE("an answer that cannot be written is a failure, however short it is") {
  const std::string search = "search --model gpt-18b --cluster selene --nodes 8 --gbs 256 ";
  for (const std::string& arguments :
       {std::string("predict bloom-176b-jean-zay"),
        std::string("predict bloom-176b-jean-zay --json"), search, search + "--csv",
        std::string("import tests/cli/fixtures/bigscience-176b.slurm"), std::string("show"),
        std::string("show clusters"), std::string("--version"), std::string("predict --help"),
        std::string("manual")}) {
    CAPTURE(arguments);
    const ProgramResult result = run_prequel("--quiet " + arguments, "", ">/dev/full");
    CHECK(result.status == 2);
    CHECK(result.err == "prequel: stdout: cannot be written: No space left on device\n");
  }
}

TEST_CASE("a flag that is said twice counts as it was said last") {
  const std::string job = "predict bloom-176b-jean-zay --json ";
  const auto plan_of = [](const ProgramResult& result) {
    REQUIRE(result.status == 0);
    return nlohmann::json::parse(result.out).at("plan");
  };
  CHECK(plan_of(run_prequel(job + "--mbs 1 --mbs 2")).at("mbs") == 2);
  CHECK(plan_of(run_prequel(job + "--set plan.mbs=2 --set plan.mbs=1")).at("mbs") == 1);
  CHECK(plan_of(run_prequel(job + "--nodes 96 --nodes 48")).at("nodes") == 48);
  CHECK(plan_of(run_prequel(job + "--no-sequence-parallel --sequence-parallel"))
            .at("sequence_parallel") == true);
}

TEST_CASE("a field that two flags set to two values is refused") {
  const std::string job = "predict bloom-176b-jean-zay ";
  CHECK(refusal(job + "--set plan.mbs=2 --mbs 1") ==
        "prequel: plan.mbs: set to \"1\" by --mbs and to \"2\" by --set; one of them would do\n");
  CHECK(run_prequel(job + "--mbs 2 --set plan.mbs=2").status == 0);
}

TEST_CASE("files are written beside the answer, not into it") {
  const std::string help = "\nprequel --help shows how to call it\n";
  const std::string why = ": - is stdout, which carries the answer; name a file" + help;
  CHECK(refusal("predict bloom-176b-jean-zay --report -") == "prequel: --report" + why);
  CHECK(refusal("predict bloom-176b-jean-zay --trace -") == "prequel: --trace" + why);
  CHECK(refusal("predict bloom-176b-jean-zay --ranks 0") ==
        "prequel: --ranks: needs --trace or --memory-snapshot, which show them\n");
  CHECK(refusal("predict bloom-176b-jean-zay --detail kernel") ==
        "prequel: --detail requires --trace" + help);
}

TEST_CASE("a folder of data that is not there is refused, where data are asked for") {
  const ProgramResult result = run_prequel("show devices", "PREQUEL_DATA=/nowhere");
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == "prequel: PREQUEL_DATA=/nowhere: not a directory\n");
  CHECK(run_prequel("show devices", "PREQUEL_DATA=").status == 0);
  CHECK(run_prequel("manual", "PREQUEL_DATA=/nowhere").status == 0);
}

TEST_CASE("import refuses names that nothing is known of") {
  const std::string import = "import tests/cli/fixtures/bigscience-176b.slurm ";
  CHECK(refusal(import + "--cluster jean-zay-a10") ==
        "prequel: --cluster: unknown cluster \"jean-zay-a10\" (did you mean \"jean-zay-a100\"?); "
        "prequel show clusters lists them\n");
  CHECK(refusal(import + "--software nope") ==
        "prequel: --software: unknown software \"nope\"; prequel show software lists them\n");
}

TEST_CASE("help begins with examples, for the program and for each command") {
  for (const char* command :
       {"", "predict", "search", "compare", "import", "show", "validate", "calibrate",
        "calibrate measure", "calibrate fit", "calibrate check", "calibrate compare",
        "calibrate runs", "calibrate advise", "manual"}) {
    const ProgramResult help = run_prequel(std::string(command) + " --help");
    CAPTURE(command);
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    CHECK(help.out.starts_with(std::string("Examples:\n  prequel ") + command));
    const std::string second = help.out.substr(help.out.find('\n', 10));
    CHECK(second.substr(0, second.find("\n\n")).find(std::string("prequel ") + command) !=
          std::string::npos);
  }
}

TEST_CASE("help names each flag as it is written, and what its value is") {
  const std::string help = run_prequel("predict --help").out;
  CHECK(help.find("--sequence-parallel,--no-sequence-parallel\n") != std::string::npos);
  CHECK(help.find("{false}") == std::string::npos);
  CHECK(help.find("--jitter SHARE ") != std::string::npos);
}

TEST_CASE("the version comes with the facts of the build") {
  const ProgramResult version = run_prequel("--version");
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("prequel "));
  for (const char* fact : {"\ncompiler    ", "\nbuild type  ", "\ndata        data\n"}) {
    CAPTURE(fact);
    CHECK(version.out.find(fact) != std::string::npos);
  }
}

}  // namespace
}  // namespace prequel
