#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/hw/base/temporary_folder.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kRunsTable = "data/runs/bigscience-jz-a100.csv";

TEST_CASE("validate answers in JSON with every row once and the statistics of each group") {
  const ProgramResult result = run_prequel("validate " + kRunsTable + " --by date --json");
  CHECK(result.status == 0);
  const Json answer = Json::parse(result.out);
  CHECK(answer.at("schema") == "prequel/validation/1");
  CHECK(answer.at("runs").size() == 75);
  std::size_t rows = 0;
  for (const Json& group : answer.at("groups")) {
    rows += group.at("runs").get<std::size_t>();
    CHECK(group.at("runs").get<int>() == group.at("predicted").get<int>() +
                                             group.at("unsupported").get<int>() +
                                             group.at("invalid").get<int>());
    for (const char* what : {"time", "memory"}) {
      for (const char* field : {"n", "mape", "median", "p90", "max", "bias"}) {
        CHECK(group.at(what).at(field).is_number());
      }
    }
    for (const char* field : {"oom_measured", "oom_predicted", "false_oom"}) {
      CHECK(group.at("fit").at(field).is_number());
    }
    for (const char* field : {"sets", "kendall_tau", "top1_regret"}) {
      CHECK(group.at("ranking").at(field).is_number());
    }
  }
  CHECK(rows == 75);
}

TEST_CASE("a predicted row has its errors, another one its reason") {
  const Json answer = Json::parse(run_prequel("validate " + kRunsTable + " --json").out);
  for (const Json& run : answer.at("runs")) {
    CAPTURE(run.at("id").get<std::string>());
    if (run.at("status") != "predicted") {
      CHECK_FALSE(run.at("reason").get<std::string>().empty());
      continue;
    }
    CHECK(run.at("predicted").at("fits").is_boolean());
    if (!run.at("measured").contains("sec_per_iter")) continue;
    CHECK(run.at("error").at("sec_per_iter").get<double>() ==
          doctest::Approx(run.at("predicted").at("sec_per_iter").get<double>() /
                              run.at("measured").at("sec_per_iter").get<double>() -
                          1));
  }
}

TEST_CASE("rows that nothing groups are told as all") {
  const TemporaryFolder folder;
  const std::string table =
      folder.with("mine.csv", R"(id,cluster,software,model,nodes,gbs,seq_len,status,sec_per_iter
a,dgx-h100,torchtitan-2025,llama-3-8b,4,128,8192,ok,5
b,dgx-h100,megatron-core-2025,llama-3-8b,4,128,8192,ok,5
)");
  const std::string text = run_prequel("validate " + table).out;
  CAPTURE(text);
  CHECK(text.find("\n  all: 2 rows, 2 predicted") != std::string::npos);
  CHECK(text.find("\n  all    time  2") != std::string::npos);
}

TEST_CASE("a mean error above --max-mape is the answer no") {
  CHECK(run_prequel("validate " + kRunsTable + " --max-mape 8").status == 0);
  CHECK(run_prequel("validate " + kRunsTable + " --max-mape 0.5").status == 1);
}

/// The shipped table with every cluster one that is not known.
std::string unpredictable_table() {
  std::string table = read_file(PREQUEL_SOURCE_DIR "/" + kRunsTable);
  for (std::size_t at = 0; (at = table.find(",jean-zay-a100,", at)) != std::string::npos;) {
    table.replace(at, 15, ",nowhere,");
  }
  return table;
}

TEST_CASE("rows without any error do not keep to --max-mape") {
  const TemporaryFolder folder;
  const std::string path = folder.with("runs.csv", unpredictable_table());
  const ProgramResult result = run_prequel("validate " + path + " --max-mape 8");
  CHECK(result.status == 1);
  CHECK(result.err == "prequel: --max-mape 8: none of 75 rows has an error to hold against it\n");
  CHECK(run_prequel("validate " + path).status == 0);
}

TEST_CASE("a table without rows, and flags without a meaning, are refused") {
  const TemporaryFolder folder;
  const std::string table = read_file(PREQUEL_SOURCE_DIR "/" + kRunsTable);
  const std::string header = folder.with("runs.csv", table.substr(0, table.find('\n') + 1));
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel("validate " + arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  const std::string help = "\nprequel --help shows how to call it\n";
  CHECK(refusal(header) == "prequel: " + header + ": no run below the header\n");
  CHECK(refusal("- <" + header) == "prequel: stdin: no run below the header\n");
  CHECK(refusal(kRunsTable + " --by source,dat") ==
        "prequel: --by dat: runs have no column \"dat\" (did you mean \"date\"?)\n");
  CHECK(refusal(kRunsTable + " --max-mape -5") ==
        "prequel: --max-mape: \"-5\" is not a number of at least 0" + help);
  CHECK(refusal(kRunsTable + " --worst -3") ==
        "prequel: --worst: \"-3\" is not a number of at least 0" + help);
  CHECK(refusal(kRunsTable + " --json --csv") == "prequel: --json excludes --csv" + help);
}

TEST_CASE("--all is the shipped tables as one, grouped in several ways, or else tables are named") {
  const Json answer = Json::parse(run_prequel("validate --all --json").out);
  std::map<std::string, std::size_t> rows;
  for (const Json& group : answer.at("groups")) {
    rows[group.at("by").get<std::string>()] += group.at("runs").get<std::size_t>();
    CHECK(group.at("fit").at("odds").at("brier").is_number());
    CHECK(group.at("layout_ranking").at("kendall_tau").is_number());
  }
  for (const char* by : {"file", "kind", "card", "precision", "scale", ""}) {
    CAPTURE(by);
    CHECK(rows[by] == answer.at("runs").size());
  }
  for (const Json& run : answer.at("runs")) {
    if (run.contains("error") && run.at("error").contains("sec_per_iter")) {
      CHECK(run.at("error").at("z").is_number());
    }
  }
  const ProgramResult text = run_prequel("validate --all --worst 0");
  CHECK(text.status == 0);
  CHECK(text.out.find("Brier") != std::string::npos);
  CHECK(run_prequel("validate --all --by kind --json").status == 0);
  CHECK(run_prequel("validate").status == 2);
  CHECK(run_prequel("validate --all " + kRunsTable).status == 2);
}

TEST_CASE("a run of one's own is told what alone could explain its gap") {
  const TemporaryFolder folder;
  const std::string table = read_file(PREQUEL_SOURCE_DIR "/data/runs/simumax-b200.csv");
  const std::size_t second = table.find('\n', table.find('\n') + 1);
  const std::string path = folder.with("runs.csv", table.substr(0, second + 1));
  CHECK(run_prequel("validate " + path).out.find("; would explain it: ") != std::string::npos);
  const Json causes = Json::parse(run_prequel("validate " + path + " --json").out).at("causes");
  double sum = 0;
  for (const Json& cause : causes) sum += cause.at("probability").get<double>();
  CHECK(sum > 0.8);
  CHECK(sum <= 1.0 + 1e-9);
  CHECK_FALSE(
      Json::parse(run_prequel("validate " + kRunsTable + " --json").out).contains("causes"));
}

TEST_CASE("what stands in for a machine and a release that are not known is told of one row, too") {
  const TemporaryFolder folder;
  const std::string rows = folder.with(
      "runs.csv",
      "id,cluster,gpu,software,model,nodes,gpus,tp,pp,mbs,gbs,seq_len,sec_per_iter,status\n"
      "a,some-site,h100,torchtitan-2031,llama-3-8b,2,16,1,1,1,16,8192,1,ok\n");
  const std::string text = run_prequel("validate " + rows).out;
  CHECK(text.find("; software torchtitan-2031 is not known: torchtitan-2025 stands in for it") !=
        std::string::npos);
  CHECK(text.find("; cluster some-site is not known: dgx-h100 stands in for it") !=
        std::string::npos);
  const Json run = Json::parse(run_prequel("validate " + rows + " --json").out).at("runs").at(0);
  CHECK(run.at("warnings").size() >= 2);
}

TEST_CASE("what a row says and its prediction does not heed is told, in text and JSON") {
  const TemporaryFolder folder;
  const std::string rows =
      folder.with("runs.csv",
                  "id,cluster,gpu,model,nodes,tp,pp,mbs,gbs,seq_len,sec_per_iter,status,my_note\n"
                  "a,dgx-h100,b200,llama-3-8b,2,1,1,1,16,8192,1,ok,warm\n"
                  "b,dgx-h100,h100,llama-3-8b,2,1,1,1,16,8192,1,ok,cold\n");
  const std::string text = run_prequel("validate " + rows).out;
  CHECK(text.find(
            "\n  gpu b200: cluster dgx-h100 has h100-sxm, which is priced; another cluster would "
            "do in 1 row\n") != std::string::npos);
  CHECK(text.find("\n  column my_note: not known, so that nothing is made of it in 2 rows\n") !=
        std::string::npos);
  CHECK(run_prequel("validate " + rows + " --by my_note").out.find("warm") != std::string::npos);
  const Json runs = Json::parse(run_prequel("validate " + rows + " --json").out).at("runs");
  CHECK(runs.at(0).at("warnings").size() == runs.at(1).at("warnings").size() + 1);
}

TEST_CASE("a field set that no file of the rows has is bad input, not an unsupported row") {
  const ProgramResult result =
      run_prequel("validate " + kRunsTable + " --set software.lanch=blocking");
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err.find(": /lanch: unknown key; did you mean \"launch\"? (from --set)\n") !=
        std::string::npos);
  CHECK(run_prequel("validate " + kRunsTable + " --set software.launch=blocking").status == 0);
}

TEST_CASE("a table without end is refused before it fills the memory") {
  const ProgramResult result = run_prequel("validate - </dev/zero");
  CHECK(result.status == 2);
  CHECK(result.err == "prequel: stdin: a table of more than 16 MiB; parts of it would do\n");
}

TEST_CASE("runs are read from stdin too") {
  CHECK(
      run_prequel("validate - --csv <" + kRunsTable).out.find("bigscience-jz-a100-0220-00,stdin") !=
      std::string::npos);
}

TEST_CASE("a script and its log go through import to one line about the run") {
  const std::string files =
      "tests/cli/fixtures/bigscience-176b.slurm tests/cli/fixtures/bigscience.log";
  const ProgramResult runs = run_prequel("import " + files + " --cluster jean-zay-a100");
  CHECK(runs.status == 0);
  CHECK(runs.err.find("training log of 20 iteration lines and arguments\n") != std::string::npos);
  const TemporaryFolder folder;
  const ProgramResult result = run_prequel("validate - <" + folder.with("runs.csv", runs.out));
  CHECK(result.status == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
  CHECK(result.out.starts_with("bigscience-gbs2048: predicted "));
  CHECK(result.out.find(" s per iteration, measured 104.50 s: ") != std::string::npos);
  CHECK(result.out.find("; would explain it: ") != std::string::npos);
  CHECK(result.out.find(" GiB, measured 52.0 GiB: ") != std::string::npos);
}

TEST_CASE("a script, its log or a job on stdin are predicted") {
  for (const char* file :
       {"tests/cli/fixtures/bigscience-176b.slurm", "tests/cli/fixtures/bigscience.log",
        "data/jobs/bloom-176b-jean-zay.json"}) {
    CAPTURE(file);
    const ProgramResult result =
        run_prequel(std::string("predict - --cluster jean-zay-a100 --json <") + file);
    CHECK(result.status == 0);
    CHECK(Json::parse(result.out).at("plan").at("gpus") == 384);
  }
}

TEST_CASE("a table that is none is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.with("runs.csv", "id,cluster,stauts\n");
  const ProgramResult result = run_prequel("validate " + path);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == "prequel: " + path +
                          ": column \"stauts\": unknown (did you mean \"status\"?)\nprequel: " +
                          path + ": column \"status\": missing\n");
}

TEST_CASE("what rows say themselves cannot be set") {
  const ProgramResult result =
      run_prequel("validate data/runs/bigscience-jz-a100.csv --set plan.mbs=1");
  CHECK(result.status == 2);
  CHECK(result.err ==
        "prequel: --set plan.mbs=1: rows say what was run; only fields of cluster., device. and "
        "software. can be set\n");
}

}  // namespace
}  // namespace prequel
