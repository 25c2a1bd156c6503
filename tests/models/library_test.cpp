#include "models/job/library.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/error_text.hpp"
#include "tests/hw/base/temporary_folder.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = R"({
  "schema": "prequel/job/1",
  "model": "bigscience-181b",
  "cluster": "jean-zay-a100",
  "plan": {"nodes": 48, "tp": 8, "pp": 6, "mbs": 4, "gbs": 2048, "precision": "fp16"},
  "measured": {"sec_per_iter": 120.18, "mem_gib": 55, "source": "a table"}
})";

Job read(const std::string& path, const std::vector<Override>& overrides = {}) {
  JobRequest request;
  request.job = path;
  request.overrides = overrides;
  return read_job(shipped_library(), request);
}

/// Returns the message about a job file with this text, the path of the file cut to "job.json".
std::string refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.with("job.json", text);
  std::string error = error_text([&] { (void)read(path, overrides); });
  for (std::size_t at = error.find(path); at != std::string::npos; at = error.find(path)) {
    error.replace(at, path.size(), "job.json");
  }
  return error;
}

std::string refusal_of_set(const std::string& path, const std::string& value,
                           const std::string& from = "--set") {
  return refusal(kJob, {{path, value, from}});
}

TEST_CASE("a job brings model, cluster, its device and its software together") {
  const TemporaryFolder folder;
  const Job job = read(folder.with("job.json", kJob));
  CHECK(job.model.name == "bigscience-181b");
  CHECK(job.cluster.name == "jean-zay-a100");
  CHECK(job.device.name == job.cluster.device);
  CHECK(job.software.name == job.cluster.software);
  CHECK(job.plan.nodes == 48);
  CHECK_FALSE(job.plan.dp.has_value());
  CHECK(job.plan.precision == Precision::fp16);
  REQUIRE(job.measured.has_value());
  CHECK(job.measured->sec_per_iter->value == 120.18);
  CHECK(job.measured->memory_gib == 55.0);
  CHECK(job.measured->source == "a table");
}

TEST_CASE("adapters without a stack's name are trained by PEFT, unless they are split") {
  const auto stack_with = [](const std::vector<Override>& overrides) {
    JobRequest request;
    request.model = "llama-3-8b";
    request.cluster = "dgx-h100";
    request.overrides = overrides;
    return read_job(shipped_library(), request).software.name;
  };
  const Override lora{"plan.tuning", "lora", "--tuning"}, tp{"plan.tp", "2", "--tp"};
  const std::string usual = stack_with({});
  CHECK(usual == "megatron-core-2026");
  CHECK(stack_with({lora}) == "hf-peft-2026");
  CHECK(stack_with({lora, tp}) == usual);
  CHECK(stack_with({{"plan.tuning", "full", "--tuning"}}) == usual);
}

TEST_CASE("every shipped job can be read and resolved") {
  const Library library = shipped_library();
  for (const std::string& name : library.names("jobs")) {
    CAPTURE(name);
    JobRequest request;
    request.job = name;
    const Job job = read_job(library, request);
    CHECK(resolve(job).scenario.plan.gpus > 0);
  }
}

TEST_CASE(
    "what was measured is not held against another model, plan or stack, nor against edited "
    "constants") {
  const TemporaryFolder folder;
  JobRequest request;
  request.job = folder.with("job.json", kJob);
  const auto is_measured = [&](const std::vector<Override>& overrides) {
    request.overrides = overrides;
    return read_job(shipped_library(), request).measured.has_value();
  };
  CHECK(is_measured({}));
  CHECK(is_measured({{"software.launch", "async", "--set"}}));
  CHECK_FALSE(is_measured({{"software.kernels.gemm_time_factor", "3", "--set"}}));
  CHECK_FALSE(is_measured({{"plan.gbs", "1024", "--gbs"}}));
  request.software = "megatron-core-2024";
  CHECK_FALSE(is_measured({}));
  request.software.reset();
  request.model = "bloom-176b";
  CHECK_FALSE(is_measured({}));
}

TEST_CASE("software of an unknown release is the nearest one's, the older of two, others are not") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "software");
  for (const char* name : {"stack-2020", "stack-2024", "stack-b-2023", "other"}) {
    static_cast<void>(folder.with(std::string("software/") + name + ".json",
                                  "{\"name\": \"" + std::string(name) + "\"}"));
  }
  const Library library({folder / "."});
  const auto found = [&](const std::string& name) {
    const nlohmann::json json = library.open("software", name).json();
    CHECK(json.value("stands_for", "") == name);
    return json.value("name", "");
  };
  CHECK(found("stack-2019") == "stack-2020");
  CHECK(found("stack-2022") == "stack-2020");
  CHECK(found("stack-2023") == "stack-2024");
  CHECK(found("stack") == "stack-2024");
  CHECK_FALSE(library.open("software", "stack-2024").json().contains("stands_for"));
  CHECK(error_text([&] {
          static_cast<void>(library.open("software", "stack-c-2023"));
        }).starts_with("unknown software \"stack-c-2023\""));
  CHECK(error_text([&] {
          static_cast<void>(library.open("clusters", "selene-2023"));
        }).starts_with("unknown cluster \"selene-2023\""));
}

TEST_CASE("a file that is like another holds what differs from it") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "clusters");
  const auto add = [&](const std::string& name, const std::string& text) {
    static_cast<void>(folder.with("clusters/" + name + ".json", text));
  };
  add("twice", R"({"name": "twice", "like": "once", "nodes": 3})");
  add("once", R"({"name": "once", "like": "dgx-h100", "device": "h200-sxm", "nodes": 7})");
  add("circle", R"({"name": "circle", "like": "circle"})");
  const Library library({folder / ""});
  const Cluster cluster = read_cluster(library.open("clusters", "twice"));
  const Cluster base = read_cluster(library.open("clusters", "dgx-h100"));
  CHECK(cluster.name == "twice");
  CHECK(cluster.device == "h200-sxm");
  CHECK(cluster.nodes == 3);
  CHECK(cluster.node.ring.bandwidth == base.node.ring.bandwidth);
  CHECK(error_text([&] {
          (void)library.open("clusters", "circle");
        }).ends_with("circle.json: /like: \"circle\" is like itself"));
  add("ring", R"({"name": "ring", "like": "other-ring"})");
  add("other-ring", R"({"name": "other-ring", "like": "ring"})");
  CHECK(error_text([&] {
          (void)library.open("clusters", "ring");
        }).ends_with("ring.json: /like: \"ring\" is like itself"));
}

TEST_CASE("what no file stands behind is no name") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "models/folder.json");
  fs::create_symlink("nowhere", folder / "models/dangling.json");
  (void)folder.with("models/there.json", "{}");
  const std::vector<std::string> names = Library({folder / ""}).names("models");
  CHECK(std::ranges::count(names, "there") == 1);
  CHECK(std::ranges::count(names, "folder") == 0);
  CHECK(std::ranges::count(names, "dangling") == 0);
}

TEST_CASE("every shipped cluster is read, and none contradicts itself") {
  const Library library = shipped_library();
  for (const std::string& name : library.names("clusters")) {
    const Cluster cluster = read_cluster(library.open("clusters", name));
    CHECK_MESSAGE(contradiction(cluster).empty(), contradiction(cluster));
  }
}

TEST_CASE("names on the command line replace those of the job") {
  const TemporaryFolder folder;
  JobRequest request;
  request.job = folder.with("job.json", kJob);
  request.model = "bloom-176b";
  request.device = "a100-sxm-40gb";
  const Job job = read_job(shipped_library(), request);
  CHECK(job.model.name == "bloom-176b");
  CHECK(job.device.name == "a100-sxm-40gb");
}

TEST_CASE("on another kind of device the stated error is that of constants nobody checked") {
  JobRequest request;
  request.model = "gpt-18b";
  request.cluster = "selene";
  const auto software_on = [&](const char* device) {
    request.device = device;
    return read_job(shipped_library(), request).software;
  };
  CHECK(software_on("a100-sxm-40gb").relative_error == 0.05);
  const Software other = software_on("h100-sxm");
  CHECK(other.relative_error == kUnknownReleaseError);
  CHECK(other.error_basis ==
        "usual for constants of another machine: megatron-lm-2021 was not checked on h100-sxm in "
        "this cluster");
  request.software = "megatron-core-2024";  // its error is that of constants nobody checked
  CHECK(software_on("h100-sxm").relative_error == 0.15);
}

TEST_CASE("a job may hold its model itself, and problems name where it stands") {
  const std::string head = R"({"cluster": "jean-zay-a100", "plan": {"gbs": 8}, "model": )";
  const std::string tail = R"( "num_hidden_layers": 2, "num_attention_heads": 12,
      "vocab_size": 50257, "max_position_embeddings": 1024}})";
  const TemporaryFolder folder;
  const std::string good = head + R"({"name": "mine", "hidden_size": 768,)" + tail;
  CHECK(read(folder.with("job.json", good)).model.name == "mine");
  CHECK(refusal(head + R"({"name": "mine", "hiden_size": 768,)" + tail) ==
        "job.json /model: /hidden_size: missing; expected a whole number from 1 to 16777216\n"
        "job.json /model: /hiden_size: unknown key; did you mean \"hidden_size\"?");
}

TEST_CASE("the first directory that has a name wins") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "models");
  const std::string path = folder.with("models/gpt2-124m.json", R"({"name": "mine",
      "num_hidden_layers": 2, "hidden_size": 768, "num_attention_heads": 12, "vocab_size": 10,
      "max_position_embeddings": 8})");
  const Library library({folder / ".", PREQUEL_DATA_DIR});
  CHECK(read_transformer(library.open("models", "gpt2-124m")).name == "mine");
  CHECK(read_transformer(library.open("models", "gpt2-345m")).name == "gpt2-345m");
  CHECK(read_transformer(shipped_library().open("models", path)).name == "mine");
}

TEST_CASE("an unknown name is refused with the nearest one") {
  CHECK(error_text([] { (void)shipped_library().open("clusters", "jean-zay-a10"); }) ==
        "unknown cluster \"jean-zay-a10\" (did you mean \"jean-zay-a100\"?); prequel show "
        "clusters lists them");
}

TEST_CASE("a part of a name leads to the names that have it, before one that is spelt nearly so") {
  const Library library({});
  const auto refusal = [&](const std::string& kind, const std::string& name) {
    return error_text([&] { static_cast<void>(library.open(kind, name)); });
  };
  CHECK(refusal("models", "qwen3-235b").find("(did you mean \"qwen3-235b-a22b\"?)") !=
        std::string::npos);
  CHECK(
      refusal("clusters", "h100").find("(did you mean \"dgx-h100\", the usual machine with it?)") !=
      std::string::npos);
  CHECK(refusal("clusters", "b200").find("\"dgx-b200\"") != std::string::npos);
  CHECK(refusal("models", "lama-3-8b").find("(did you mean \"llama-3-8b\"?)") != std::string::npos);
}

TEST_CASE("a data directory that is none is refused") {
  CHECK(error_text([] { Library({"/no/such"}); }) == "data_dir /no/such: not a directory");
}

TEST_CASE("an override reaches every input") {
  const TemporaryFolder folder;
  const Job job = read(folder.with("job.json", kJob), {{"model.num_hidden_layers", "72"},
                                                       {"cluster.nodes", "96"},
                                                       {"device.memory", "64 GiB"},
                                                       {"software.launch", "async"},
                                                       {"plan.grad_precision", "fp32"}});
  CHECK(job.model.layers == 72);
  CHECK(job.cluster.nodes == 96);
  CHECK(job.device.memory.value == 64 * kGiB);
  CHECK(job.software.host.launch == Launch::async);
  CHECK(job.plan.grad_precision == Precision::fp32);
}

TEST_CASE("an override of a path that leads nowhere is refused") {
  CHECK(refusal_of_set("modle.hidden_size", "1") ==
        "--set modle.hidden_size=1: expected PATH=VALUE with a path that begins with model., "
        "device., cluster., software., plan. or what_if. (did you mean \"model\"?)");
  CHECK(refusal_of_set("plan", "1") ==
        "--set plan=1: expected PATH=VALUE with a path that begins with model., device., "
        "cluster., software., plan. or what_if. (did you mean \"plan\"?)");
  CHECK(refusal_of_set("plan.gsb", "1") ==
        "job.json: /plan/gsb: unknown key; did you mean \"gbs\"? (from --set)");
}

TEST_CASE("a bad value names the flag that set it") {
  CHECK(refusal_of_set("plan.tp", "eight", "--tp") ==
        "job.json: /plan/tp: expected a whole number from 1 to 8192, got \"eight\" (from --tp)");
}

TEST_CASE("all problems of a plan are told at once, with their pointers") {
  CHECK(refusal(R"({"model": "bloom-176b", "cluster": "jean-zay-a100", "plan": {
      "nodes": "48", "tp": 0, "pp": -6, "mbs": 1e300, "gbs": 2048.5, "precison": "fp16",
      "recompute": "ful", "sequence_parallel": 1}})") ==
        "job.json: /plan/nodes: expected a whole number from 1 to 1048576, got \"48\"\n"
        "job.json: /plan/tp: expected a whole number from 1 to 8192, got 0\n"
        "job.json: /plan/pp: expected a whole number from 1 to 8192, got -6\n"
        "job.json: /plan/mbs: expected a whole number from 1 to 1048576, got 1e+300\n"
        "job.json: /plan/gbs: expected a whole number from 1 to 1073741824, got 2048.5\n"
        "job.json: /plan/recompute: expected \"none\", \"selective\" or \"full\", got \"ful\" (did "
        "you "
        "mean \"full\"?)\n"
        "job.json: /plan/sequence_parallel: expected true or false, got 1\n"
        "job.json: /plan/precison: unknown key; did you mean \"precision\"?");
}

TEST_CASE("unknown keys and wrong types of a job are refused with the nearest key") {
  CHECK(refusal(R"({"schema": "prequel/job/2", "modle": "x", "plan": 3, "cluster": []})") ==
        "job.json: /schema: expected \"prequel/job/1\", got \"prequel/job/2\"\n"
        "job.json: /modle: unknown key; did you mean \"model\"?\n"
        "job.json: /plan: expected an object with the plan's fields\n"
        "job.json: /cluster: expected text, got an array");
}

TEST_CASE("a stack's default precision follows the device") {
  JobRequest request;
  request.model = "llama3-8b";
  request.software = "mlperf-v5.0";  // trains in fp8
  request.overrides = {{"plan.gbs", "16", "--gbs"}, {"plan.mbs", "1", "--mbs"}};
  const auto taken = [&](const char* cluster) {
    request.cluster = cluster;
    return resolve(read_job(shipped_library(), request));
  };
  CHECK(taken("dgx-h100").scenario.plan.precision == Precision::fp8);
  for (const std::string& warning : taken("dgx-h100").warnings) {
    CHECK_FALSE(warning.starts_with("precision"));
  }
  const ResolvedScenario on_a100 = taken("dgx-a100");
  CHECK(on_a100.scenario.plan.precision == Precision::bf16);
  REQUIRE_FALSE(on_a100.warnings.empty());
  CHECK(on_a100.warnings.back() ==
        "precision: device a100-sxm-80gb has no fp8 matrix products, in which mlperf-v5.0 trains "
        "by default; bf16 is taken");
  CHECK(taken("dgx-2-v100").scenario.plan.precision == Precision::fp16);
  // A precision that is asked for is never replaced.
  request.overrides.push_back({"plan.precision", "fp8", "--precision"});
  CHECK(taken("dgx-a100").scenario.plan.precision == Precision::fp8);
}

TEST_CASE("a job that lacks model or cluster says which") {
  CHECK(refusal(R"({"cluster": "jean-zay-a100"})") ==
        "model: job.json names no model (prequel show models lists them)");
  CHECK(refusal(R"({"model": "bloom-176b"})") ==
        "cluster: job.json names no cluster (prequel show clusters lists them)");
}

TEST_CASE("what is no JSON is refused with the place") {
  CHECK(refusal(std::string(kJob).substr(0, 60)) ==
        "job.json: line 3, column 30: not JSON: unexpected end of input; expected string literal");
  CHECK(refusal("") ==
        "job.json: line 1, column 1: not JSON: unexpected end of input; expected '[', '{', or a "
        "literal");
  CHECK(refusal(R"({"plan": {"gbs": NaN}})") ==
        "job.json: line 1, column 18: not JSON: invalid literal; last read: '\"gbs\": N'");
  CHECK(refusal(R"({"model": "a", "model": "b"})") == "job.json: /model: the same key twice");
}

TEST_CASE("deeply nested JSON is refused") {
  CHECK(refusal(std::string(100'000, '[')) == "job.json: nested deeper than 64 levels");
}

TEST_CASE("a missing file, a directory and a file of 200 MB are refused unread") {
  const TemporaryFolder folder;
  CHECK(error_text([&] { (void)read(folder / "no.json"); }) ==
        (folder / "no.json") + ": no such file");
  CHECK(error_text([&] { (void)read(folder / ""); }) ==
        (folder / "") + ": is a directory; expected a file");
  const std::string large = folder.with("large.json", "");
  fs::resize_file(large, 200'000'000);
  CHECK(error_text([&] { (void)read(large); }) == large + ": is 200 MB; at most 16 MiB");
}

}  // namespace
}  // namespace prequel
