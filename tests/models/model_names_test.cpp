#include "models/job/model_names.hpp"

#include <doctest/doctest.h>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {
namespace {

std::string called(const std::string& name) {
  static const Document names = Document::parse("names.json", R"({
    "schema": "prequel/model-names/1", "origin": "",
    "models": [{"names": ["new-8b"], "model": "llama3.1-8b"}]})");
  static const std::vector<std::string> files{"llama-3-8b", "llama3-8b", "llama3.1-8b",
                                              "gpt-1.3b",   "gpt-13b",   "mistral-7b"};
  return model_called(name, files, names).value_or("none");
}

const Library& shipped() {
  static const Library library({PREQUEL_DATA_DIR});
  return library;
}

}  // namespace

TEST_CASE("a model's name is told by its letters and digits, whoever publishes it") {
  CHECK(called("meta-llama/Meta-Llama-3.1-8B-Instruct") == "llama3.1-8b");
  CHECK(called("llama3_8b_pretrain_config") == "llama-3-8b");
  CHECK(called("llama3-8b") == "llama3-8b");  // a file of that very name comes first
  CHECK(called("Mistral-7B-v0.1") == "mistral-7b");
  CHECK(called("new-8b") == "llama3.1-8b");
  CHECK(called("other-8b") == "none");
  CHECK(called("") == "none");
}

TEST_CASE("models of 2026 are known by their publishers' own names") {
  const auto file = [](const std::string& name) { return shipped().model_file(name); };
  for (const auto& [name, model] : std::vector<std::pair<std::string, std::string>>{
           {"nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16", "nemotron-3-nano-4b"},
           {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nemotron-3-super-120b-a12b"},
           {"nvidia/Nemotron-H-56B-Base-8K", "nemotron-h-56b"},
           {"nvidia/NVIDIA-Nemotron-Nano-12B-v2", "nemotron-nano-12b-v2"},
           {"swiss-ai/Apertus-70B-2509", "apertus-70b"},
           {"ai21labs/AI21-Jamba-1.5-Large", "jamba-1.5-large"},
           {"Qwen/Qwen3.6-35B-A3B", "qwen3.5-35b-a3b"},
           {"moonshotai/Kimi-K2.6", "kimi-k2"}}) {
    CAPTURE(name);
    CHECK(file(name) == model);
  }
}

TEST_CASE("the dot of a size tells models apart") {
  CHECK(called("gpt_1p3b") == "gpt-1.3b");
  CHECK(called("GPT-13B") == "gpt-13b");
  CHECK(called("gpt-130m") == "none");
}

TEST_CASE("a model's name is found within a text, with its size, longest first") {
  const auto within = [](const std::string& text, bool names_models = false) -> std::string {
    const auto found = shipped().model_within({{text, names_models}});
    return found ? found->file : "none";
  };
  CHECK(within("/scratch/checkpoints/llama2-7b-tp4-pp1/") == "llama-2-7b");
  CHECK(within("../hf_llama2_models/7B") == "llama-2-7b");
  CHECK(within("train_configs/llama3_405b.toml") == "llama-3-405b");
  CHECK(within("internlm2_chat_7b_full_alpaca_e3") == "internlm2-7b");
  CHECK(within("pretrained/GPT-NeoX-20B/EleutherAI_gpt-neox-20b/") == "gpt-neox-20b");
  CHECK(within("openbmb/MiniCPM-2B-sft-bf16") == "minicpm-2b");
  CHECK(within("pretrain/tinyllama.py", true) == "tinyllama-1.1b");
  // A name without a size may be of anything: a tokenizer, data.
  CHECK(within("pretrain/tinyllama.py") == "none");
  CHECK(within("/data/starcoder/python_text_document") == "none");
  // Others whose names have these words.
  for (const char* other : {"llava-llama-3-8b", "qwen2-vl-7b", "llama-moe-7b", "codellama-9b",
                            "llama-2-7b-vision", "falcon-mamba-7b", "", "7b", "out/7b-run"}) {
    CAPTURE(other);
    CHECK(within(other, true) == "none");
  }
  const auto second = shipped().model_within({{"run-1", false}, {"x/llama-2-7b", false}});
  REQUIRE(second);
  CHECK(second->clue == 1);
  CHECK(says_size("my/own-13b-model"));
  CHECK_FALSE(says_size("a100 v3 fp8"));
}

TEST_CASE("a model is found by the name of its publisher, and a path stays a path") {
  const auto name_of = [](const std::string& asked) -> std::string {
    return shipped().open("models", asked).read_once(read_transformer).name;
  };
  CHECK(name_of("Qwen/Qwen3-235B-A22B") == "qwen3-235b-a22b");
  CHECK(name_of("meta-llama/Llama-3.3-70B-Instruct") == "llama-3.1-70b");
  CHECK_THROWS_AS(shipped().open("models", "somewhere/llama-9b"), InputError);
  // A path that leads nowhere is no model of that name.
  for (const char* path : {"./llama-3-8b", "/llama-3-8b", "a/b/llama-3-8b", "a/llama-3-8b.json"}) {
    CAPTURE(path);
    CHECK_THROWS_AS(shipped().open("models", path), InputError);
  }
}

TEST_CASE("every name of the table leads to a file that is there, and to no file by itself") {
  const Document table = shipped().open("names", "models");
  const std::vector<std::string> files = shipped().names("models");
  const Document none = Document::parse(
      "none.json", R"({"schema": "prequel/model-names/1", "origin": "", "models": []})");
  for (const Cursor& one : table.root().at("models").items()) {
    const std::string file = one.at("model").text();
    CAPTURE(file);
    CHECK(shipped().means_file("models", file));
    for (const Cursor& name : one.at("names").items()) {
      CAPTURE(name.text());
      CHECK(model_called(name.text(), files, table) == file);
      CHECK_FALSE(model_called(name.text(), files, none));
    }
  }
}

}  // namespace prequel
