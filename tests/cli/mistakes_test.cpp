#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

/// A line that people type, and the part of the message that says what would do.
struct Mistake {
  const char* typed;
  const char* fix;
};

constexpr Mistake kMistakes[] = {
    {"predict --model llama-3-8b --cluster H100 --gbs 64", "did you mean \"dgx-h100\""},
    {"predict --model llama-3-8b --cluster 8xH100 --gbs 64", "did you mean \"dgx-h100\""},
    {"predict --model llama-3-8b --cluster a100 --gbs 64", "did you mean \"dgx-a100\""},
    {"predict --model llama-3-8b --cluster rtx-4090 --gbs 64", "did you mean \"rtx-4090-node\""},
    {"predict --model llama-3-8b --device rtx-4090 --gbs 64",
     "no cluster; rtx-4090-node, the usual machine with rtx-4090, would do"},
    {"predict --model llama-3-8b --device a100-sxm-40gb --gbs 64",
     "azure-nd-a100-v4, the usual machine"},
    {"predict --model llama-3-8b --cluster dgx-h10 --gbs 64", "did you mean \"dgx-h100\""},
    {"predict --model llama-3-8b --cluster dgx-h100,dgx-a100 --gbs 64",
     "prequel search for several"},
    {"predict --model llama-3-8 --cluster dgx-h100 --gbs 64", "did you mean \"llama-3-8b\""},
    {"predict --model llama-70b --cluster dgx-h100 --gbs 64", "\"llama-3-70b\""},
    {"predict --model Qwen/Qwen3-33B --cluster dgx-h100 --gbs 64", "did you mean \"qwen3-32b\""},
    {"predict --model lama-3-8b --cluster dgx-h100 --gbs 64", "did you mean \"llama-3-8b\""},
    {"predict --model mine.json --cluster dgx-h100 --gbs 64", "mine.json"},
    {"predict --cluster dgx-h100 --gbs 64", "prequel show models"},
    {"predict --model llama-3-8b --gbs 64", "prequel show clusters"},
    {"predict --model llama-3-8b --cluster dgx-h100 --nodes 1", "sequences (512) or tokens (4M)"},
    {"predict llama-3-8b --cluster dgx-h100", "prequel show jobs"},
    {"predict --modle llama-3-8b", "did you mean \"--model\""},
    {"predict --tensor-model-parallel 8", "did you mean \"--tp 8\""},
    {"predcit --model llama-3-8b", "did you mean \"predict\""},
    {"", "the commands are predict"},
    {"predict bloom-176b-jean-zay --nodes 8k", "expected a whole number"},
    {"predict bloom-176b-jean-zay --tp 3", "would do"},
    {"predict bloom-176b-jean-zay --tp 8 --pp 7", "would do"},
    {"predict bloom-176b-jean-zay --mbs 3", "would do"},
    {"predict bloom-176b-jean-zay --gbs 2047", "would do"},
    {"predict bloom-176b-jean-zay --nodes 100000", "would do"},
    {"predict bloom-176b-jean-zay --gpus 100", "96 or 104 would do"},
    {"predict bloom-176b-jean-zay --recompute ful", "did you mean \"full\""},
    {"predict bloom-176b-jean-zay --precision float16", "\"fp16\", \"bf16\""},
    {"predict bloom-176b-jean-zay --set plan.mbz=2", "did you mean \"mbs\""},
    {"predict bloom-176b-jean-zay --set mbs=2", "begins with model., device."},
    {"predict bloom-176b-jean-zay --price 2", "--tokens"},
    {"predict bloom-176b-jean-zay --tokens lots", "300B or 15T"},
    {"predict bloom-176b-jean-zay --slow-node 7", "NODE:SPEED"},
    {"predict bloom-176b-jean-zay --emit megtron", "megatron"},
    {"search --model llama-3-8b --cluster dgx-h100 --nodes 2", "sequences (512) or tokens (4M)"},
    {"search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --tp 1-8", "1,2,4"},
    {"search --model llama-3-8b --cluster dgx-h100 --gpus 8:64 --gbs 64", "--nodes 1:8"},
    {"search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --objective costs", "time"},
    {"search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --objective cost",
     "needs --tokens"},
    {"search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --software a,b",
     "in a call for each"},
    {"import CHANGELOG.md", "looks like a page of text"},
    {"validate", "runs: missing"},
    {"show modls", "did you mean \"models\""},
    // As other programs have it.
    {"predict bloom-176b-jean-zay --gradient-checkpointing", "\"--recompute full\""},
    {"predict bloom-176b-jean-zay --load-in-4bit", "\"--base-precision nf4\""},
    {"predict bloom-176b-jean-zay --qlora", "\"--tuning lora --base-precision nf4\""},
    {"predict bloom-176b-jean-zay --flash-attn", "\"--attention flash\""},
    {"predict bloom-176b-jean-zay --context-length 8192", "\"--seq-len 8192\""},
    {"predict bloom-176b-jean-zay --max-seq-len=8192", "\"--seq-len 8192\""},
    {"predict bloom-176b-jean-zay --tensor_parallel_size 8", "\"--tp 8\""},
    {"predict bloom-176b-jean-zay --world-size 384", "\"--gpus 384\""},
    {"predict bloom-176b-jean-zay --batch-size 2048", "\"--global-batch-size\""},
    {"predict bloom-176b-jean-zay --dtype bf16", "\"--precision bf16\""},
    {"predict bloom-176b-jean-zay --num-gpus 384", "\"--gpus\""},
    {"predict bloom-176b-jean-zay --gpu h100", "\"--cluster\""},
    {"predict bloom-176b-jean-zay --framework nemo", "\"--software\""},
    {"predict bloom-176b-jean-zay --budget 1M", "\"--price\""},
    {"predict bloom-176b-jean-zay --fsdp", "\"--zero\""},
    {"predict bloom-176b-jean-zay --sequence-parallel true", "switches take no value"},
    {"search --model llama-3-8b --cluster dgx-h100 --days 30", "\"--within\""},
    // Models that there are not, and those that are near by generation and size.
    {"predict llama-3-8b --cluster dgx-h100", "a model is called so"},
    {"predict --model llama-4-70b --cluster dgx-h100 --gbs 64", "\"llama4-scout\""},
    {"predict --model qwen3-7b --cluster dgx-h100 --gbs 64", "did you mean \"qwen3-8b\""},
    {"predict --model gemma-3-9b --cluster dgx-h100 --gbs 64", "did you mean \"gemma-3-12b\""},
    {"predict --model phi-5 --cluster dgx-h100 --gbs 64", "did you mean \"phi-4\""},
    {"predict --model deepseek-v5 --cluster dgx-h100 --gbs 64", "\"deepseek-v4-pro\""},
    {"help", "did you mean \"--help\""},
};

TEST_CASE("a typical mistake is answered with what would do") {
  for (const auto& [typed, fix] : kMistakes) {
    CAPTURE(std::string(typed));
    const ProgramResult result = run_prequel(typed);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CAPTURE(result.err);
    CHECK(result.err.find(fix) != std::string::npos);
  }
}

TEST_CASE("an unknown flag is refused even where a file of other programs' names is broken") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "import");
  (void)folder.with("import/mine.json", R"({"schema": "prequel/framework/1", "name": 7})");
  const ProgramResult result =
      run_prequel("--data-dir '" + (folder / "") + "' predict bloom-176b-jean-zay --qlora");
  CHECK(result.status == 2);
  CHECK(result.err.starts_with("prequel: --qlora: unknown"));
}

TEST_CASE("names of clouds and of clusters in capitals are understood") {
  for (const char* cluster : {"p5.48xlarge", "DGX-H100", "a3-megagpu-8g", "BM.GPU.H100.8"}) {
    CAPTURE(std::string(cluster));
    const ProgramResult result = run_prequel(
        "predict --model llama-3-8b --gbs 64 --nodes 1 --quiet "
        "--tp 8 --recompute full --cluster " +
        std::string(cluster));
    CHECK(result.status <= 1);
  }
}

}  // namespace
}  // namespace prequel
