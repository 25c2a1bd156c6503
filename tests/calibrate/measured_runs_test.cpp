#include "calibrate/validate/measured_runs.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/error_text.hpp"
#include "tests/hw/base/temporary_folder.hpp"

namespace prequel {
namespace {

constexpr const char* kHeader =
    "id,cluster,nodes,gpus,layers,hidden,heads,seq_len,vocab,dp,tp,pp,mbs,gbs,sec_per_iter,"
    "mem_gib,status\n";

std::vector<MeasuredRun> parse(const std::string& text) {
  std::istringstream in(text);
  return read_measured_runs(in, "runs.csv");
}

std::string refusal(const std::string& text) {
  return error_text([&] { (void)parse(text); });
}

/// Why a row of the header above is not sound.
std::string contradiction(const std::string& row) {
  const auto runs = parse(kHeader + row + "\n");
  REQUIRE(runs.size() == 1);
  return runs.front().contradiction;
}

TEST_CASE("a row says model, plan and what was measured") {
  const auto runs = parse(std::string(kHeader) +
                          "a,jean-zay-a100,48,384,78,14400,96,2048,250880,8,8,6,1,2048,183.64,39,ok"
                          "\n");
  REQUIRE(runs.size() == 1);
  const MeasuredRun& run = runs.front();
  CHECK(run.contradiction.empty());
  CHECK(run.id == "a");
  CHECK(run.line == 2);
  CHECK(run.nodes == 48);
  REQUIRE(run.model.has_value());
  CHECK(run.model->layers == 78);
  CHECK(run.model->head_dim == 150);
  CHECK(run.model->ffn_hidden == 4 * 14400);
  CHECK(run.plan.tp == 8);
  CHECK_FALSE(run.plan.zero.has_value());
  CHECK(run.sec_per_iter == 183.64);
  CHECK(run.mem_gib == 39.0);
  CHECK(run.status == RunStatus::ok);
}

TEST_CASE("a share of the peak that a table rounds to 0 says nothing") {
  const std::string header = "id,cluster,sec_per_iter,mfu,hfu,status\n";
  const MeasuredRun run = parse(header + "a,c,95.3,0,0.0,ok\n").front();
  CHECK(run.contradiction.empty());
  CHECK_FALSE(run.mfu);
  CHECK_FALSE(run.hfu);
  CHECK(parse(header + "a,c,95.3,-1,,ok\n").front().contradiction.find("mfu") != std::string::npos);
}

TEST_CASE("memory that a table prints in GB is decimal") {
  const std::string header = "id,cluster,mem_gib,mem_kind,status\n";
  const auto gib = [&](const char* kind) {
    return parse(header + "a,c,10.73741824," + kind + ",ok\n").front().mem_gib.value_or(0);
  };
  CHECK(gib("as printed GB; of the job") == doctest::Approx(10.0));
  CHECK(gib("whole GB") == 10.73741824);
  CHECK(gib("largest reserved") == 10.73741824);
}

TEST_CASE("a row that lacks its shape is kept without a model") {
  const auto runs = parse(std::string(kHeader) + "a,c,,,,,,,,,,,,,,61,ok\n");
  CHECK_FALSE(runs.front().model.has_value());
  CHECK(runs.front().contradiction.empty());
}

TEST_CASE("every shipped table can be read, and only one row contradicts itself") {
  // Its source prints one data-parallel rank on eight devices.
  const std::string known = "deepspeed-zero-10";
  for (const char* table : {"bigscience-jz-a100.csv", "mosaic-a100.csv", "megatron-sc21.csv",
                            "deepspeed-zero-a100-40gb.csv", "fugaku-124m.csv", "fugaku-30b.csv"}) {
    for (const MeasuredRun& run :
         read_measured_runs(std::string(PREQUEL_DATA_DIR "/runs/") + table)) {
      CAPTURE(run.id);
      CHECK(run.contradiction.empty() == (run.id != known));
    }
  }
}

TEST_CASE("cells that contradict each other are named") {
  CHECK(contradiction("a,c,48,384,78,14400,96,2048,250880,8,8,7,1,2048,1,,ok") ==
        "dp 8 x tp 8 x pp 7 = 448 ranks, but gpus is 384");
  CHECK(contradiction("a,c,48,384,78,14400,96,2048,250880,8,8,6,3,2048,1,,ok") ==
        "gbs 2048 is not a multiple of dp 8 x mbs 3");
  CHECK(contradiction("a,c,48,384,78,14400,97,2048,250880,8,8,6,1,2048,1,,ok") ==
        "hidden 14400 is not a multiple of heads 97");
  CHECK(contradiction("a,c,48,40,,,,,,,,,,,1,,ok") == "40 gpus on 48 nodes");
  CHECK(contradiction("a,c,,,,,,,,,,,,,1,,failed") == "a failed run with a time per iteration");
}

TEST_CASE("cells that cannot be read are named with what would do") {
  CHECK(contradiction("a,c,-48,,,,,,,,,,,,1,,ok") ==
        "nodes: expected a whole number from 1 to 1048576, got \"-48\"");
  CHECK(contradiction("a,c,1e300,,,,,,,,,,,,1,,ok") ==
        "nodes: expected a whole number from 1 to 1048576, got \"1e300\"");
  CHECK(contradiction("a,c,,,,,,,,,,,,,nan,,ok") ==
        "sec_per_iter: expected a positive number, got \"nan\"");
  CHECK(contradiction("a,c,,,,,,,,,,,,,0,,ok") ==
        "sec_per_iter: expected a positive number, got \"0\"");
  CHECK(contradiction("a,c,,,,,,,,,,,,,1,,done") ==
        "status: expected one of ok, oom, failed, got \"done\"");
  CHECK(contradiction("a,c,,,,,,,,,,,,,1,,") == "status: empty; expected ok, oom or failed");
  CHECK(contradiction(",c,,,,,,,,,,,,,1,,ok") == "id: empty");
  CHECK(contradiction("a,c,1,ok") == "4 cells in a table of 17 columns");
}

TEST_CASE("an id used twice is a contradiction of the second row") {
  const auto runs = parse("id,cluster,status\na,c,ok\na,c,ok\n");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].contradiction.empty());
  CHECK(runs[1].contradiction == "id \"a\": used by an earlier row");
}

TEST_CASE("a table without its columns, or with unknown ones, is refused") {
  CHECK(refusal("id,clusters,stauts\n") ==
        "runs.csv: column \"clusters\": unknown (did you mean \"cluster\"?)\n"
        "runs.csv: column \"stauts\": unknown (did you mean \"status\"?)\n"
        "runs.csv: column \"cluster\": missing\n"
        "runs.csv: column \"status\": missing");
  CHECK(refusal("iteration 1/ 2 | lm loss: 3 |\n") ==
        "runs.csv: no table of measured runs (its first line should name columns such as id, "
        "cluster and status); prequel import makes one of a training log");
  CHECK(refusal("") == "runs.csv: empty; expected a header line");
  CHECK(refusal("id,cluster,status\n\"a,c,ok\n") ==
        "runs.csv: line 2: a quote is opened and never closed");
}

TEST_CASE("a column of one's own is kept, and the row says that nothing is made of it") {
  const auto runs = parse("id,cluster,status,wandb_url\na,c,ok,https://x\nb,c,ok,\n");
  REQUIRE(runs.size() == 2);
  CHECK(cell(runs[0], "wandb_url") == "https://x");
  CHECK(runs[0].unknown == std::vector<std::string>{"wandb_url"});
  CHECK(runs[1].unknown.empty());
}

TEST_CASE("bytes that are no text, and very long rows, do no harm") {
  CHECK(parse("id,cluster,status\n\xff\xfe,c,ok\n").size() == 1);
  CHECK(refusal("id,cluster,status\n" + std::string(2 << 20, 'x') + ",c,ok\n") ==
        "runs.csv: line 2: a line of more than 1 MiB");
}

TEST_CASE("a missing table and a directory are refused") {
  const TemporaryFolder folder;
  CHECK(error_text([&] { (void)read_measured_runs(folder / "no.csv"); }) ==
        (folder / "no.csv") + ": cannot be read; no such file, or no permission");
  CHECK(error_text([&] { (void)read_measured_runs(folder / ""); }) ==
        (folder / "") + ": a directory; expected a CSV table of measured runs");
}

}  // namespace
}  // namespace prequel
