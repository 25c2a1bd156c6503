#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

TEST_CASE("a search that is interrupted prints the best so far and ends with status 130") {
  const TemporaryFolder folder;
  // The program inherits that SIGINT is ignored until it catches it: no signal comes too early.
  const std::string script = folder.with(
      "run.sh",
      "trap '' INT\n"
      "cd '" PREQUEL_SOURCE_DIR
      "'\n"
      "PREQUEL_DATA=data '" PREQUEL_PROGRAM
      "' search --model bloom-176b --cluster jean-zay-a100 --gbs 1536,1792,2048 --max-nodes 48 "
      "--everything --json >" +
          (folder / "out") + " 2>" + (folder / "err") +
          " &\n"
          "for i in $(seq 3000); do kill -INT $! || break; sleep 0.01; done 2>/dev/null\n"
          "wait $!\n");
  const int status = std::system(("sh " + script).c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(read_file(folder / "err").empty());
  const auto answer = nlohmann::json::parse(read_file(folder / "out"));
  CHECK(answer.at("interrupted") == true);
  CHECK(answer.at("plans").size() <= answer.at("fitting").get<std::size_t>());
}

}  // namespace
}  // namespace prequel
