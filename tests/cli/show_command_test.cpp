#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

TEST_CASE("show lists all kinds, or the names of one") {
  const ProgramResult all = run_prequel("show");
  CHECK(all.status == 0);
  for (const char* name : {"bloom-176b", "a100-sxm-80gb", "jean-zay-a100",
                           "megatron-deepspeed-2022", "bloom-176b-jean-zay"}) {
    CAPTURE(name);
    CHECK(all.out.find(name) != std::string::npos);
  }
  const ProgramResult devices = run_prequel("show devices");
  CHECK(devices.out.find("a100-pcie-80gb\na100-sxm-40gb\n") != std::string::npos);
  CHECK(run_prequel("show device").out == devices.out);
}

TEST_CASE("show models tells sizes and years, this year's first, and each shape once") {
  const std::string models = run_prequel("show models").out;
  const std::size_t qwen = models.find("\nqwen3-32b ");
  REQUIRE(qwen != std::string::npos);
  CHECK(models.substr(qwen + 1, 54) == "qwen3-32b                32.8 B                   2025");
  CHECK(qwen < models.find("\ngpt2-xl "));
  CHECK(models.find("3.35 B active") != std::string::npos);
  CHECK(models.find("\nllama-3-70b ") != std::string::npos);
  CHECK(models.find("\nllama3-70b ") == std::string::npos);
  CHECK(models.find("also llama3-70b") != std::string::npos);
}

TEST_CASE("a usual cluster that nobody checked names one of the same machines that is checked") {
  const std::string clusters = run_prequel("show clusters").out;
  const std::size_t usual = clusters.find("\ndgx-h100 ");
  REQUIRE(usual != std::string::npos);
  const std::string line = clusters.substr(usual + 1, clusters.find('\n', usual + 1) - usual - 1);
  CHECK(line.find("usual h100") != std::string::npos);
  CHECK(line.ends_with("the machine of nvidia-dgx-h100, which is checked"));
}

TEST_CASE("show KIND --json is JSON, as show is") {
  for (const char* kind : {"models", "devices", "clusters", "software", "jobs"}) {
    const auto names =
        nlohmann::json::parse(run_prequel("show " + std::string(kind) + " --json").out);
    CHECK(names.at(kind).size() > 0);
  }
}

TEST_CASE("show prints a file with the origin of each number") {
  const ProgramResult cluster = run_prequel("show cluster jean-zay-a100");
  CHECK(cluster.status == 0);
  CHECK(cluster.out.find("# bigscience-workshop/bigscience jz/hpc-specs.md") != std::string::npos);
  CHECK(cluster.out.find("network.efficiency") != std::string::npos);
}

TEST_CASE("show --json prints the file itself") {
  const ProgramResult model = run_prequel("show model bloom-176b --json");
  CHECK(nlohmann::json::parse(model.out).at("hidden_size") == 14336);
}

TEST_CASE("show takes a Hugging Face config for a model, as predict does") {
  const ProgramResult shown = run_prequel("show model tests/cli/fixtures/llama-2-7b-config.json");
  CHECK(shown.status == 0);
  CHECK(shown.out.find("parameters: 6738415616") != std::string::npos);
  CHECK(shown.err.find("Hugging Face config of the family llama") != std::string::npos);
  const ProgramResult json =
      run_prequel("show model tests/cli/fixtures/llama-2-7b-config.json --json");
  CHECK(nlohmann::json::parse(json.out).at("intermediate_size") == 11008);
}

TEST_CASE("an unknown kind or name is refused with the nearest") {
  const ProgramResult kind = run_prequel("show modls");
  CHECK(kind.status == 2);
  CHECK(kind.err ==
        "prequel: show modls: unknown kind (did you mean \"models\"?); models, devices, clusters, "
        "software and jobs are known\n");
  const ProgramResult name = run_prequel("show model bloom-176");
  CHECK(name.status == 2);
  CHECK(name.err ==
        "prequel: unknown model \"bloom-176\" (did you mean \"bloom-176b\"?); prequel show models "
        "lists them\n");
}

}  // namespace
}  // namespace prequel
