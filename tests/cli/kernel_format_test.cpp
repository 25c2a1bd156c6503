#include "cli/predict/kernel_format.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

/// Returns the text below the prediction.
std::string explained_kernels(const std::string& arguments) {
  const ProgramResult result = run_prequel("predict bloom-176b-jean-zay " + arguments);
  CHECK(result.status == 0);
  return result.out;
}

TEST_CASE("--explain tells a kernel's shape, work, limits and constants") {
  const std::string text = explained_kernels("--explain mlp-in");
  CHECK(text.find("\nmlp in, block forward: ") != std::string::npos);
  CHECK(text.find("8192 x 7168 x 14336 fp16 (m x n x k); 1.684 TFLOP, ") != std::string::npos);
  CHECK(text.find("tiled matrix product: ") != std::string::npos);
  CHECK(text.find("constants: device.gemm, which err by ") != std::string::npos);
  CHECK(text.find("    limit") != std::string::npos);
  CHECK(text.find("  binds\n") != std::string::npos);
  CHECK(text.find("\nWhere the constants come from\n  device.gemm: fitted to ") !=
        std::string::npos);
  CHECK(text.find("qkv") == std::string::npos);
}

TEST_CASE("a kernel that the device file does not name tells whose constants it takes") {
  CHECK(explained_kernels("--explain softmax")
            .find("device.memory_bound.softmax: as fused_pointwise: well-fused kernels") !=
        std::string::npos);
}

TEST_CASE("constants that --set changed are told to be") {
  CHECK(explained_kernels("--explain qkv --set device.gemm.efficiency=0.5")
            .find("; some changed by --set") != std::string::npos);
}

TEST_CASE("--verbose lists all kernels with what binds each") {
  const std::string text = explained_kernels("--verbose");
  for (const char* kernel : {"\n  qkv, block forward ", "\n  logits, head backward ",
                             "\n  mlp all-reduce, block recompute ", "matrix rate", "links"}) {
    CAPTURE(kernel);
    CHECK(text.find(kernel) != std::string::npos);
  }
}

TEST_CASE("steps of a ring are explained by message, rate and what attention hides") {
  const ProgramResult result = run_prequel(
      "predict --model llama-3-8b --cluster dgx-h100 --nodes 2 --cp 4 --gbs 64 --seq-len 32768 "
      "--explain all --json");
  // Keys and values of 8192 tokens, 8 heads of 128 in 2 bytes; backward their gradients go along.
  const std::string steps = "\"3 steps of a ring of 4 ranks over device links, each of ";
  CHECK(result.out.find(steps + "33.55 MB at ") != std::string::npos);
  CHECK(result.out.find(steps + "67.11 MB with gradients at ") != std::string::npos);
  CHECK(result.out.find(" ms beside attention, of which ") != std::string::npos);
}

TEST_CASE("transfers to experts are explained by dispatcher, tokens and bytes") {
  const std::string job =
      "predict --model qwen3-30b-a3b --cluster dgx-h100 --nodes 2 --ep 8 --gbs 256 --explain all ";
  const ProgramResult known = run_prequel(job + "--dispatcher deepep");
  CHECK(known.out.find("\n  deepep of 8 ranks: ") != std::string::npos);
  CHECK(known.out.find("constants: cluster.dispatch.deepep\n") != std::string::npos);
  const ProgramResult across = run_prequel(
      std::string("predict --model qwen3-30b-a3b --cluster dgx-h100 --nodes 2 --ep 16 --gbs 256 "
                  "--explain all --dispatcher alltoall"));
  CHECK(across.out.find("alltoall of 16 ranks: ") != std::string::npos);
  CHECK(across.out.find("as NCCL's collectives") != std::string::npos);
}

TEST_CASE("the kernels of the busiest stage add up to its share of the breakdown") {
  for (const std::string plan :
       {"bloom-176b-jean-zay", "bloom-176b-jean-zay --pp 12 --dp 4 --recompute none",
        "--model mosaicgpt-7b --cluster mosaic-r1z1-a100-80gb --nodes 4 --gbs 256",
        "--model gpt2-345m --cluster fugaku --nodes 16 --gbs 64"}) {
    CAPTURE(plan);
    const auto answer =
        nlohmann::json::parse(run_prequel("predict " + plan + " --verbose --json").out);
    const std::int64_t busiest = answer["slowest_stage"];
    const std::int64_t last = answer["plan"]["pp"].get<std::int64_t>() - 1;
    double seconds = 0;
    for (const auto& kernel : answer["kernels"]) {
      if (kernel["part"] == "embedding" && busiest != 0) continue;
      if (kernel["part"] == "head" && busiest != last) continue;
      seconds += kernel["seconds"].get<double>() * kernel["count"].get<double>();
    }
    const auto& parts = answer["breakdown_s"];
    double share = 0;
    for (const char* part : {"compute", "recompute", "tp_comm", "host"}) {
      share += parts[part].get<double>();
    }
    CHECK(seconds == doctest::Approx(share));
  }
}

TEST_CASE("an unknown kernel is refused with the nearest and the list") {
  const ProgramResult result = run_prequel(
      "--quiet predict --model gpt2-345m --cluster dgx-a100 --nodes 1 --gbs 8 --explain qvk");
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err ==
        "prequel: --explain qvk: no such kernel in this step (did you mean \"qkv\"?); it has "
        "embedding, "
        "qkv, attention, projection, mlp in, mlp out, pointwise, launches, logits, "
        "cross-entropy, all\n");
}

TEST_CASE("the JSON answer holds the kernels that were asked for") {
  const auto answer = nlohmann::json::parse(explained_kernels("--json --explain logits"));
  CHECK(answer.at("kernels").size() == 3);
  const auto& first = answer["kernels"][0];
  CHECK(first.at("name") == "logits");
  CHECK(first.at("count") == 64);
  CHECK(first.at("binding") == "matrix rate");
  CHECK(first.at("origin").get<std::string>().starts_with("fitted to "));
  CHECK_FALSE(nlohmann::json::parse(explained_kernels("--json")).contains("kernels"));
}

}  // namespace
}  // namespace prequel
