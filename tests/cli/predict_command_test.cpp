#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/schedule/schedule.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

Json predicted(const std::string& arguments, int status = 0) {
  const ProgramResult result = run_prequel("predict " + arguments + " --json");
  CHECK(result.status == status);
  return Json::parse(result.out);
}

TEST_CASE("the JSON answer has the fields that scripts read") {
  const Json answer = predicted("bloom-176b-jean-zay");
  CHECK(answer.at("schema") == "prequel/prediction/1");
  for (const char* field :
       {"/sec_per_iter", "/samples_per_sec", "/tokens_per_sec", "/error/sec_per_iter",
        "/tflops_per_gpu/model", "/tflops_per_gpu/hardware", "/mfu", "/hfu", "/peak_tflops",
        "/memory/peak_gib", "/memory/capacity_gib", "/memory/stages/0/weights_gib",
        "/memory/stages/0/gradients_gib", "/memory/stages/0/optimizer_gib",
        "/memory/stages/0/activations_gib", "/memory/stages/0/buffers_gib",
        "/memory/stages/0/framework_gib", "/memory/stages/0/peak_gib"}) {
    CAPTURE(field);
    CHECK(answer.at(Json::json_pointer(field)).get<double>() > 0);
  }
  CHECK(answer.at("error").at("basis").is_string());
  CHECK(answer.at("flops_convention") == "prequel");
  CHECK(answer.at("memory").at("fits") == true);
  CHECK(answer.at("memory").at("verdict") == "fits");
  CHECK(answer.at("memory").at("stages").size() == 6);
  CHECK(answer.at("warnings").is_array());
  CHECK(answer.at("plan").at("dp") == 8);
  CHECK(answer.at("plan").at("zero") == 1);
}

TEST_CASE("the breakdown adds up to the seconds per iteration, and rates follow from them") {
  const Json answer = predicted("bloom-176b-jean-zay");
  double sum = 0;
  for (const auto& [part, value] : answer.at("breakdown_s").items()) sum += value.get<double>();
  const double step = answer.at("sec_per_iter").get<double>();
  CHECK(sum == doctest::Approx(step).epsilon(1e-9));
  CHECK(answer.at("samples_per_sec").get<double>() == doctest::Approx(2048 / step));
  CHECK(answer.at("tokens_per_sec").get<double>() == doctest::Approx(2048 * 2048 / step));
  CHECK(answer.at("mfu").get<double>() ==
        doctest::Approx(answer.at("tflops_per_gpu").at("model").get<double>() /
                        answer.at("peak_tflops").get<double>()));
}

TEST_CASE("a stack states the error it earned on its own cluster, and the interval's elsewhere") {
  const std::string plan =
      " --software megatron-deepspeed-2022 --nodes 1 --gbs 64 --model gpt2-345m";
  const Json home = predicted("bloom-176b-jean-zay");
  CHECK(home["error"]["sec_per_iter"] == 0.04);
  const Json away = predicted("--cluster dgx-h100" + plan);
  CHECK(away["error"]["sec_per_iter"] > 0.1);
  CHECK(away["error"]["basis"] ==
        "constants of megatron-deepspeed-2022 were not checked on dgx-h100");
  const double step = away["sec_per_iter"], high = away["interval"]["sec_per_iter"][1];
  // An 80 % interval of t with 4 degrees of freedom reaches 1.53 times its mean deviation.
  CHECK(std::log(high / step) / double(away["error"]["sec_per_iter"]) ==
        doctest::Approx(1.533).epsilon(0.01));
}

TEST_CASE("the same question gets the same bytes") {
  CHECK(run_prequel("predict bloom-176b-jean-zay --json").out ==
        run_prequel("predict bloom-176b-jean-zay --json").out);
}

TEST_CASE("one command each tells what 48 nodes would do, and what 18 would") {
  const std::string job = "bloom-176b-jean-zay --mbs 2 --tp 8 ";
  const Json many = predicted(job + "--nodes 48 --pp 12 --dp 4");
  const Json few = predicted(job + "--nodes 18 --pp 18 --dp 1");
  CHECK(many.at("plan").at("gpus") == 384);
  CHECK(few.at("plan").at("gpus") == 144);
  CHECK(few.at("sec_per_iter").get<double>() > 2 * many.at("sec_per_iter").get<double>());
}

TEST_CASE("a plan is predicted from names alone") {
  const Json answer = predicted(
      "--model bloom-176b --cluster jean-zay-a100 --nodes 48 --tp 8 --pp 12 --mbs 2 --gbs 2048");
  CHECK(answer.at("plan").at("dp") == 4);
  CHECK(answer.at("software") == "megatron-deepspeed-2022");
}

TEST_CASE("Megatron's spelling of a flag does the same") {
  CHECK(run_prequel("predict bloom-176b-jean-zay --json --micro-batch-size 2").out ==
        run_prequel("predict bloom-176b-jean-zay --json --mbs 2").out);
}

TEST_CASE("a plan that does not fit is answered in full, with status 1") {
  const Json answer = predicted("bloom-176b-jean-zay --pp 1 --tp 8 --dp 48 --gbs 3072 --mbs 1", 1);
  CHECK(answer.at("memory").at("fits") == false);
  CHECK(answer.at("memory").at("verdict") == "oom");
  CHECK(answer.at("sec_per_iter").get<double>() > 0);
}

TEST_CASE("warnings go to stderr, unless they are not wanted") {
  const std::string job = "predict bloom-176b-jean-zay --set model.num_attention_heads=512";
  CHECK(run_prequel(job).err.starts_with(
      "warning: head size 28 (512 heads) is not a multiple of 8: "));
  CHECK(run_prequel(job + " --quiet").err.empty());
}

TEST_CASE("a setting that this plan does not feel is told of") {
  const auto warned = [](const std::string& setting) {
    const Json answer = predicted("bloom-176b-jean-zay --set '" + setting + "'");
    return answer.at("warnings").back().get<std::string>();
  };
  const std::string usual =
      predicted("bloom-176b-jean-zay").at("warnings").back().get<std::string>();
  const std::string idle = ": changes nothing in this prediction";
  CHECK(warned("device.memory_bound.rope.launch_s=1") ==
        "device.memory_bound.rope.launch_s=1" + idle);
  CHECK(warned("software.launch=blocking") == "software.launch=blocking" + idle);
  CHECK(warned("software.launch=async") == usual);
  CHECK(warned(R"(software.kernels.gemm_time_factor={"value":1.02,"sd":0.2})") == usual);
  CHECK(warned(R"(software.memory.weight_bytes={"value":3,"sd":0.2})") ==
        "software.memory.weight_bytes: its sd is not used, since no interval is made of it");
}

TEST_CASE("the two errors of an answer say of what they are") {
  const auto text = [](const std::string& job) { return run_prequel("predict " + job).out; };
  const std::string own = text("bloom-176b-jean-zay");
  CHECK(own.find(" s ± 4 % ") != std::string::npos);
  CHECK(own.find("  ± 4 % is what megatron-deepspeed-2022 states of all its runs: mean error on") !=
        std::string::npos);
  CHECK(own.find("\nHow sure of this plan: 80 % intervals ") != std::string::npos);
  const std::string foreign =
      text("--model llama-3-8b --cluster mi300x-node --nodes 1 --gbs 64 --seq-len 8192");
  CHECK(foreign.find(" % is to be expected of this plan: constants of primus-2025 were not") !=
        std::string::npos);
}

TEST_CASE("constants that no equation would read are refused") {
  const auto refused = [](const std::string& job, const std::string& setting) {
    const ProgramResult result =
        run_prequel("predict --model llama-3-8b --nodes 1 --gbs 32 --cluster " + job + " --set '" +
                    setting + "'");
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refused("dgx-h100", "device.gemm_formats.fp8.misaligned_fraction=0.1")
            .find("/gemm_formats/fp8/misaligned_fraction: only products of two bytes an element "
                  "leave the tensor cores; leave it out (from --set)") != std::string::npos);
  CHECK(refused("dgx-h100", "cluster.node.collectives.nvls.step_s=1e-6")
            .find("/node/collectives/nvls/step_s: a reduction in the switch has no steps; leave "
                  "it out (from --set)") != std::string::npos);
  CHECK(refused("gb200-nvl72", "cluster.dispatch.hybridep.combine.row_s=1e-6")
            .find("/dispatch/hybridep/combine/row_s: compute units are no limit without a "
                  "unit_rate; say both or neither (from --set)") != std::string::npos);
}

TEST_CASE("the text answer says units, convention, measured values and the stages") {
  const std::string text = run_prequel("predict bloom-176b-jean-zay").out;
  for (const char* part :
       {"120.18 s", "tokens/s", "TFLOP/s", "FLOPs counted as \"prequel\", of a peak of 312 TFLOP/s",
        "peak memory", "of 80.0 GiB, fits", "Where the time goes", "bubble", "stage"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("tokens a second are of what rows compute, and of pairs both sequences count") {
  const auto tokens_of = [](const std::string& arguments) {
    const std::string ask =
        "--model llama-3-8b --cluster rtx-4090-node --software hf-peft-2026 "
        "--tuning lora --base-precision nf4 --dp 1 --gbs 8 --seq-len 4096 " +
        arguments;
    const std::string text = run_prequel("predict --quiet " + ask).out;
    const Json json = predicted(ask);
    const std::string said =
        fmt::format("{:.0f} tokens/s", json.at("tokens_per_sec").get<double>());
    CAPTURE(text);
    CHECK(text.find(said) != std::string::npos);
    return std::pair(text, json);
  };
  const auto [text, json] = tokens_of("--lengths alpaca-en --epochs 3");
  CHECK(json.at("tokens_per_sec").get<double>() <
        0.5 * 4096 * json.at("samples_per_sec").get<double>());
  const double real = json.at("tokens").at("real").get<double>();
  CHECK(text.find(fmt::format("{:.0f} tokens/s are no padding",
                              real / json.at("sec_per_iter").get<double>())) != std::string::npos);
  const double trained = real * json.at("run").at("iterations").get<double>();
  CHECK(text.find(fmt::format("{:.4g}", trained)) != std::string::npos);
  const Json pairs = tokens_of("--objective dpo").second;
  CHECK(pairs.at("tokens_per_sec").get<double>() ==
        doctest::Approx(2 * 4096 * pairs.at("samples_per_sec").get<double>()));
}

TEST_CASE("the second line says all that is not plain of a plan") {
  const auto plan_of = [](const std::string& arguments) {
    const std::string text = run_prequel("predict --quiet " + arguments).out;
    const std::size_t begin = text.find('\n') + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(plan_of("--model qwen3-30b-a3b --cluster nvidia-dgx-b200 --software megatron-core-2026 "
                "--nodes 4 --pp 2 --ep 16 --gbs 512 --seq-len 4096 --precision fp8 --fp8-recipe "
                "mxfp8 --recompute selective --recompute-modules moe_act,layernorm --layout "
                "'Et*23|t*25L' --cuda-graphs attn") ==
        "dp 16  tp 1  pp 2  ep 16  mbs 1  gbs 512  seq 4096  fp8  zero 1  recompute selective  "
        "attention flash  1f1b  fp8 recipe mxfp8  loss fused  layout Et*23|t*25L  recompute "
        "modules moe_act layernorm  cuda graphs attn  dispatcher alltoall  router balance forced "
        "(equal loads)");
  CHECK(plan_of("--model llama-3-70b --cluster nvidia-dgx-h100 --nodes 4 --tp 8 --cp 2 --gbs 128 "
                "--cp-comm all-gather")
            .find("1f1b  sequence parallel  cp comm all-gather") != std::string::npos);
}

TEST_CASE("no line of the text answer ends in a blank") {
  CHECK(run_prequel("predict bloom-176b-jean-zay").out.find(" \n") == std::string::npos);
}

TEST_CASE("another convention counts other FLOPs in the same time") {
  const Json own = predicted("bloom-176b-jean-zay");
  const Json megatron = predicted("bloom-176b-jean-zay --flops megatron-hw");
  CHECK(megatron.at("flops_convention") == "megatron-hw");
  CHECK(megatron.at("sec_per_iter") == own.at("sec_per_iter"));
  CHECK(megatron.at("tflops_per_gpu") != own.at("tflops_per_gpu"));
}

std::string refusal_of_prediction(const std::string& arguments) {
  const ProgramResult result = run_prequel("predict " + arguments);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

TEST_CASE("bad values name flag, field and what would do, with status 2") {
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --tp eight") ==
        "prequel: bloom-176b-jean-zay: /plan/tp: expected a whole number from 1 to 8192, got "
        "\"eight\" (from --tp)\n");
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --dp 7") ==
        "prequel: plan: tp 8 x pp 6 x dp 7 = 336 ranks, but 48 nodes of jean-zay-a100 have 384 "
        "GPUs; dp 8 would do\n"
        "prequel: plan: gbs 2048: not a multiple of dp 7 x mbs 4 = 28; 2044 or 2072 would do\n");
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --flops megatron") ==
        "prequel: --flops megatron: unknown convention (did you mean \"megatron-hw\"?); prequel, "
        "megatron-hw, bs-noemb, "
        "mosaic-2023, mosaic-2023-star and causal are known\n");
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --set plan") ==
        "prequel: --set plan: expected PATH=VALUE\n");
}

TEST_CASE("plans that cannot be priced are refused with what would do") {
  CHECK(refusal_of_prediction(
            "--model gpt2-345m --cluster vtrain-a100-multi --nodes 1 --gbs 64 --zero 1 --offload "
            "optimizer") ==
        "prequel: plan: offload: cluster vtrain-a100-multi says nothing of its hosts (host.memory "
        "and "
        "host.memory_bandwidth); offload none would do, or both keys, such as "
        "cluster.host.memory=\"1 TB\" and cluster.host.memory_bandwidth=\"200 GB/s\"\n");
  CHECK(predicted(
            "--model gpt2-345m --cluster vtrain-a100-multi --nodes 1 --gbs 64 --zero 1 --offload "
            "optimizer --set cluster.host.memory='1 TB' --set "
            "cluster.host.memory_bandwidth='200 GB/s'")
            .at("sec_per_iter") > 0);
  CHECK(refusal_of_prediction(
            "--model llama-2-7b --cluster dgx-h100 --nodes 4 --gbs 256 --precision fp32") ==
        "prequel: plan: attention flash: has no fp32 kernels; precision bf16 or fp16 would do, or "
        "attention unfused or fused-softmax\n");
}

TEST_CASE("the help lists every schedule") {
  const std::string help = run_prequel("predict --help").out;
  std::string names;
  for (const std::string_view schedule : kWordsOf<Schedule>) {
    names += (names.empty() ? "" : "|") + std::string(schedule);
  }
  CHECK(help.find("--schedule " + names) != std::string::npos);
}

TEST_CASE("unknown names cite the flag or the file that has them") {
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --cluster jean-zay-a10") ==
        "prequel: --cluster: unknown cluster \"jean-zay-a10\" (did you mean \"jean-zay-a100\"?); "
        "prequel show clusters lists them\n");
  CHECK(refusal_of_prediction("bloom-176b-jean-zya") ==
        "prequel: unknown job \"bloom-176b-jean-zya\" (did you mean \"bloom-176b-jean-zay\"?); "
        "prequel show jobs lists them\n");
  const TemporaryFolder folder;
  const std::string job = folder.with("job.json", R"({"model": "bloom-176", "plan": {"gbs": 1}})");
  CHECK(refusal_of_prediction(job) == "prequel: " + job +
                                          ": /model: unknown model \"bloom-176\" (did you mean "
                                          "\"bloom-176b\"?); prequel show models lists them\n");
}

TEST_CASE("a missing or broken job file is refused") {
  CHECK(refusal_of_prediction("/no/such.json") == "prequel: /no/such.json: no such file\n");
  const TemporaryFolder folder;
  const std::string job = folder.with("job.json", "{\"model\": ");
  CHECK(refusal_of_prediction(job).starts_with("prequel: " + job + ": line 1, column "));
}

TEST_CASE("a slow node, degraded links and jitter tell another time beside the predicted one") {
  const Json usual = predicted("bloom-176b-jean-zay");
  for (const char* question :
       {"--slow-node 7:0.9", "--slow-node 0:0.8 --slow-node 7:0.9", "--link-fraction nic:0.5",
        "--link-fraction spine:0.5 --link-fraction nvlink:0.5",
        "--jitter 0.02 --seed 1 --samples 5"}) {
    CAPTURE(question);
    const Json answer = predicted(std::string("bloom-176b-jean-zay ") + question);
    CHECK(answer.at("sec_per_iter") == usual.at("sec_per_iter"));
    const Json& what_if = answer.at("what_if_sec_per_iter");
    CHECK(what_if.at("mean") > usual.at("sec_per_iter"));
    CHECK(what_if.at("p5") <= what_if.at("p50"));
    CHECK(what_if.at("p50") <= what_if.at("p95"));
  }
  CHECK_FALSE(usual.contains("what_if_sec_per_iter"));
}

TEST_CASE("a report that cannot be written is said before the answer") {
  for (const char* command :
       {"predict bloom-176b-jean-zay", "search bloom-176b-jean-zay --mbs 2 --pp 12",
        "validate data/runs/fugaku-30b.csv"}) {
    CAPTURE(command);
    const ProgramResult result = run_prequel(std::string(command) + " --report /dev/full");
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find("prequel: /dev/full: cannot be written") != std::string::npos);
  }
}

TEST_CASE("contention tells what gets in each other's way, and what that adds to the prediction") {
  const std::string job = "bloom-176b-jean-zay --software megatron-core-2024 --contention";
  const Json answer = predicted(job);
  const Json& contention = answer.at("contention");
  const auto seconds = [&](const char* key) { return contention.at(key).get<double>(); };
  const double parts = seconds("links_s") + seconds("overlap_s") + seconds("launches_s");
  CHECK(parts > 0.01);
  CHECK(seconds("sec_per_iter") ==
        doctest::Approx(answer.at("sec_per_iter").get<double>() + parts).epsilon(1e-9));
  CHECK(run_prequel("predict " + job)
            .out.find(fmt::format(
                "\nWith contention: {:.2f} s per iteration (shared links +{:.3f} s, kernels beside "
                "collectives +{:.3f} s, host behind +{:.3f} s at most)\n",
                seconds("sec_per_iter"), seconds("links_s"), seconds("overlap_s"),
                seconds("launches_s"))) != std::string::npos);
  CHECK_FALSE(predicted("bloom-176b-jean-zay").contains("contention"));
  CHECK(refusal_of_prediction("bloom-176b-jean-zay --contention --jitter 0.1") ==
        "prequel: --contention: plays one rank for all of a stage, so it cannot say what slow "
        "nodes or jitter do; ask for them by themselves\n");
}

TEST_CASE("a job may ask what if, and flags replace what it says") {
  const TemporaryFolder folder;
  const auto job = [&](const std::string& what_if) {
    return folder.with("job.json", R"({"model": "bloom-176b", "cluster": "jean-zay-a100",
      "plan": {"nodes": 48, "tp": 8, "pp": 12, "mbs": 2, "gbs": 2048}, "what_if": )" +
                                       what_if + "}");
  };
  const auto asked = [](const std::string& arguments) {
    return predicted(arguments).at("what_if_sec_per_iter");
  };
  const std::string plan =
      "--model bloom-176b --cluster jean-zay-a100 --nodes 48 --tp 8 --pp 12 --mbs 2 --gbs 2048 ";
  const Json slow = asked(plan + "--slow-node 7:0.9 --link-fraction spine:0.5");
  CHECK(asked(job(R"({"slow_nodes": {"7": 0.9}, "link_fractions": {"spine": 0.5}})")) == slow);
  CHECK(asked(job(R"({"slow_nodes": {"7": 0.5}, "link_fractions": {"spine": 0.5}})") +
              " --slow-node 7:0.9") == slow);
  const Json drawn = asked(plan + "--jitter 0.02 --seed 3 --samples 4");
  CHECK(asked(job(R"({"jitter": 0.02, "seed": 3, "samples": 4})")) == drawn);
  CHECK(asked(job(R"({"jitter": 0.5, "seed": 3})") + " --jitter 0.02 --samples 4") == drawn);

  const std::string bad = job(R"({"jiter": 0.02, "slow_nodes": {"seven": 0.5}, "samples": 3})");
  CHECK(refusal_of_prediction(bad) ==
        "prequel: " + bad +
            ": /what_if/slow_nodes/seven: expected the number of a "
            "node as key, such as \"7\"\nprequel: " +
            bad + ": /what_if/samples: has no effect without jitter\nprequel: " + bad +
            ": /what_if/jiter: unknown key; did you mean \"jitter\"?\n");
}

TEST_CASE("bad values of what-if flags are refused with what would do") {
  const auto refused = [](const std::string& flags) {
    return refusal_of_prediction("bloom-176b-jean-zay " + flags);
  };
  CHECK(refused("--slow-node 7") == "prequel: --slow-node 7: expected NODE:SPEED, such as 7:0.9\n");
  CHECK(
      refused("--slow-node 7:fast") ==
      "prequel: bloom-176b-jean-zay: /what_if/slow_nodes/7: expected a number from 0.01 to 1, got "
      "\"fast\" (from --slow-node)\n");
  CHECK(refused("--slow-node 0:2").find("from 0.01 to 1") != std::string::npos);
  CHECK(refused("--slow-node 48:0.9") ==
        "prequel: --slow-node 48: the job runs on nodes 0 to 47; 47 would do\n");
  CHECK(refused("--link-fraction spine") ==
        "prequel: --link-fraction spine: expected LEVEL:FRACTION, such as spine:0.5\n");
  CHECK(refused("--link-fraction spine:0") ==
        "prequel: bloom-176b-jean-zay: /what_if/link_fractions/spine: expected a number above 0 "
        "and at most 1, got 0 (from --link-fraction)\n");
  CHECK(refused("--link-fraction spin:0.5") ==
        "prequel: --link-fraction spin: jean-zay-a100 has no such links (did you mean "
        "\"spine\"?); it has nvlink, pcie, nic, spine, core\n");
  CHECK(refused("--jitter 2") ==
        "prequel: bloom-176b-jean-zay: /what_if/jitter: expected a number from 0 to 1, got 2 "
        "(from --jitter)\n");
  CHECK(refused("--jitter 0.1 --samples 0") ==
        "prequel: bloom-176b-jean-zay: /what_if/samples: expected a whole number from 1 to "
        "1000000, got 0 (from --samples)\n");
  CHECK(refused("--jitter 0.1 --seed -1") ==
        "prequel: bloom-176b-jean-zay: /what_if/seed: expected a whole number of at least 0, got "
        "-1 (from --seed)\n");
  CHECK(refused("--samples 10 --seed 1") ==
        "prequel: bloom-176b-jean-zay: /what_if/seed: has no effect without jitter (from "
        "--seed)\nprequel: bloom-176b-jean-zay: /what_if/samples: has no effect without jitter "
        "(from --samples)\n");
}

}  // namespace
}  // namespace prequel
