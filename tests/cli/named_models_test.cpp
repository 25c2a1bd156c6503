#include "cli/import/named_inputs.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob named(const std::string& name) {
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  Facts facts;
  facts.set("model_named", name);
  look_up_model(&library, facts);
  ImportedJob job = resolve(facts);
  count_parameters(job);
  return job;
}

double billions(const std::string& name) {
  const ImportedJob job = named(name);
  return job.report.parameters ? static_cast<double>(*job.report.parameters) * 1e-9 : 0;
}

TEST_CASE("a model's name is known in all its spellings") {
  for (const char* name : {"meta-llama/Llama-3.1-8B-Instruct", "llama31_8b", "llama3.1-8b",
                           "llama31_8b_pretrain_config", "Meta-Llama-3.1-8B"}) {
    CAPTURE(name);
    CHECK(named(name).model.layers == 32);
    CHECK(named(name).model.kv_heads == 8);
  }
  CHECK(named("mistralai/Mistral-7B-v0.1").model.vocab == 32000);
  CHECK(named("mistralai/Mistral-7B-Instruct-v0.3").model.vocab == 32768);
  CHECK_FALSE(named("roberta-base").model.layers);
  CHECK_FALSE(named("llama").model.layers);
  CHECK_FALSE(named("").model.layers);
}

TEST_CASE("models known by name have the parameters that their publishers count") {
  const std::pair<const char*, double> published[] = {{"Llama-3.2-1B", 1.236},
                                                      {"Llama-3.2-3B", 3.213},
                                                      {"Llama-3.3-70B-Instruct", 70.55},
                                                      {"Qwen2.5-0.5B", 0.494},
                                                      {"Qwen2.5-1.5B", 1.544},
                                                      {"Qwen2.5-3B", 3.086},
                                                      {"Qwen2.5-7B", 7.616},
                                                      {"Qwen2.5-14B", 14.77},
                                                      {"Qwen2.5-32B", 32.76},
                                                      {"Qwen2.5-72B", 72.71},
                                                      {"Qwen3-1.7B", 1.721},
                                                      {"Qwen3-4B", 4.022},
                                                      {"Mistral-7B-v0.1", 7.242},
                                                      {"TinyLlama-1.1B", 1.100},
                                                      {"SmolLM2-1.7B", 1.711},
                                                      {"SmolLM2-135M", 0.1345},
                                                      {"gpt2-xl", 1.558},
                                                      {"gpt2-large", 0.774},
                                                      {"pythia-160m", 0.1623},
                                                      {"pythia-1b", 1.012},
                                                      {"pythia-6.9b", 6.857},
                                                      {"pythia-12b", 11.85},
                                                      {"gpt-neox-20b", 20.55},
                                                      {"Phi-3-mini-4k-instruct", 3.821},
                                                      {"phi-4", 14.66},
                                                      {"gemma-2b", 2.506},
                                                      {"gemma-7b", 8.538},
                                                      {"gemma-2-2b", 2.614},
                                                      {"gemma-2-9b", 9.242},
                                                      {"Qwen-7B-Chat", 7.721},
                                                      {"Qwen-1_8B", 1.837},
                                                      {"Qwen-14B", 14.17},
                                                      {"Qwen1.5-0.5B", 0.464},
                                                      {"Qwen1.5-32B", 32.51},
                                                      {"Qwen1.5-110B", 111.2},
                                                      {"Qwen1.5-MoE-A2.7B", 14.32},
                                                      {"Baichuan2-7B", 7.506},
                                                      {"Yi-9B", 8.829},
                                                      {"glm-4-9b", 9.400},
                                                      {"internlm2-1_8b", 1.889},
                                                      {"phi-1_5", 1.418},
                                                      {"gemma-2-27b", 27.23},
                                                      {"SmolLM3-3B", 3.075},
                                                      {"Codestral-22B-v0.1", 22.25},
                                                      {"open_llama_3b", 3.427},
                                                      {"starcoder", 15.52},
                                                      {"MiniCPM-2B", 2.725},
                                                      {"OLMo-7B", 6.888},
                                                      {"OLMo-2-0425-1B", 1.485},
                                                      {"OLMoE-1B-7B-0924", 6.919},
                                                      {"gpt-neo-1.3B", 1.316},
                                                      {"gpt-neo-2.7B", 2.651}};
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    CHECK(std::abs(billions(name) / count - 1) < 2e-3);
  }
}

TEST_CASE("every model file, and every name of the table, is a model's that scripts may name") {
  const Document table = Document::read(PREQUEL_SOURCE_DIR "/data/names/models.json");
  std::vector<std::string> seen = Library({}).names("models");
  REQUIRE(seen.size() > 150);
  for (const std::string& name : seen) CHECK(billions(name) > 0);
  for (const nlohmann::json& one : table.json().at("models")) {
    for (const nlohmann::json& name : one.at("names")) {
      CAPTURE(name);
      CHECK(billions(name.get<std::string>()) > 0);
      CHECK_FALSE(lists(seen, name.get<std::string>()));
      seen.push_back(name.get<std::string>());
    }
  }
}

TEST_CASE("what files say of a named model goes over its own shape") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 --nnodes 2 run_recipe.py --recipe llama3_8b_pretrain_config "
      "model.num_layers=16 train.global_batch_size=64 train.micro_batch_size=1\n");
  CHECK(job.model.layers == 16);
  CHECK(job.model.hidden == 4096);
  CHECK(job.plan.gbs == 64);
  CHECK(lists(job.report.left_out,
              "llama3_8b_pretrain_config: prequel does not know the batches, layout, precision and "
              "recomputation that it trains with by itself"));
}

TEST_CASE("a model that no known flag names is taken from the likeliest text, and that is said") {
  const auto assumed = [](const std::string& script, const std::string& line) {
    const ImportedJob job = job_of_script(script);
    CAPTURE(script);
    CHECK(job.model.layers);
    CHECK(lists(job.report.assumed, line));
  };
  assumed(
      "torchrun --nproc_per_node 8 finetune.py --model_name llama2 --load /ckpts/llama2-7b-tp4\n",
      "the model llama-2-7b: named in --load /ckpts/llama2-7b-tp4");
  assumed("torchrun --nproc_per_node 8 train.py --job.config_file ./configs/llama3_405b.toml\n",
          "the model llama-3-405b: named in the configuration ./configs/llama3_405b.toml");
  assumed("MODEL_PATH=/models/gpt2-xl-1558m/qwen2.5-7b\ntorchrun train.py --lr 1e-4\n",
          "the model qwen2.5-7b: named in MODEL_PATH /models/gpt2-xl-1558m/qwen2.5-7b");
  assumed("torchrun --nproc_per_node 8 pretrain/tinyllama.py --devices 8\n",
          "the model tinyllama-1.1b: named in the program pretrain/tinyllama.py");
  assumed("srun xtuner train internlm2_chat_7b_full_alpaca_e3 --deepspeed deepspeed_zero3\n",
          "the model internlm2-7b: named in the word internlm2_chat_7b_full_alpaca_e3");
  assumed("torchrun --nproc_per_node 8 train.py --load_llama_config 7b\n",
          "the model llama-7b: named in --load-llama-config load-llama-config 7b");
}

TEST_CASE("a model is not taken from what names data, others or one of another size") {
  for (const char* script :
       {"torchrun train.py --data_path /data/llama-2-7b --lr 1\n",
        "torchrun train.py --reward_model_path llama-2-7b --lr 1\n",
        "torchrun train.py --model_name_or_path my/own-13b --output_dir out/llama-2-7b\n",
        "torchrun train.py --num_layers 4 --load /ckpts/llama-2-7b\n"}) {
    CAPTURE(script);
    CHECK(refusal_of_script(script).starts_with("s.sh: "));
  }
}

TEST_CASE("a model that is named fills what the files leave out of its shape") {
  const std::string start =
      "torchrun --nproc_per_node 8 train.py --model_name_or_path llama-2-7b --hidden_size 4096 ";
  const ImportedJob job = job_of_script(start + "--num_layers 32 --seq_length 2048\n");
  CHECK(job.model.ffn_hidden == 11008);
  CHECK(
      lists(job.report.assumed, "the rest of the shape: that of llama-2-7b, which the files name"));
  const ImportedJob other = job_of_script(start + "--num_layers 16 --seq_length 2048\n");
  CHECK(other.model.layers == 16);
  CHECK(lists(other.report.left_out,
              "the model llama-2-7b, which is named, has 32 layers of 4096: predicted with 16 of "
              "4096"));
}

TEST_CASE("layers of each stage are told from the model that is named") {
  const auto with = [](const std::string& layers) {
    return job_of_script(
        "python dist_clm_train.py --model-name /p/EleutherAI_gpt-neox-20b --seq-length 2048 "
        "--batch-size 64 --micro-batch-size 1 --gradient-accumulate-step 1 --embedding-dim 6144 "
        "--pipeline-group-size 8 --data-group-size 1 --fp16 --num-layers " +
        layers);
  };
  const ImportedJob job = with("6");
  CHECK(job.model.layers == 44);
  CHECK(job.plan.pp == 8);
  CHECK(job.plan.dp == 1);
  CHECK(job.plan.gbs == 64);
  CHECK(lists(job.report.assumed,
              "44 layers: those of gpt-neox-20b, which is named; 6 are of each of 8 stages"));
  CHECK(with("4").model.layers == 4);  // of another model, which is told
}

}  // namespace
}  // namespace prequel
