#include "cli/import/python/python_values.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kNemo =
    "import nemo_run as run\n"
    "from nemo.collections import llm\n"
    "def configure(nodes: int = 2, gpus_per_node: int = 8):\n"
    "    recipe = llm.llama3_8b.pretrain_recipe(\n"
    "        dir=\"/c\",\n"
    "        num_nodes=nodes,\n"
    "        num_gpus_per_node=gpus_per_node,\n"
    "    )\n"
    "    recipe.trainer.strategy.tensor_model_parallel_size = 2  # of a node\n"
    "    recipe.data.micro_batch_size = 1\n"
    "    recipe.data.global_batch_size = 2_56\n"
    "    recipe.trainer.callbacks = [run.Config(Timer)]\n"
    "    return recipe\n";

TEST_CASE("a program that asks for a recipe is the command that asks for the same") {
  CHECK(command_of_recipe(kNemo) ==
        "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8 "
        "trainer.strategy.tensor_model_parallel_size=2 data.micro_batch_size=1 "
        "data.global_batch_size=256\n");
  CHECK(command_of_recipe("from megatron.bridge.recipes import x\n"
                          "cfg = qwen3_8b_pretrain_config()\n"
                          "cfg.train.global_batch_size = 128\ncfg.train.lr = schedule(3)\n") ==
        "torchrun run_recipe.py --recipe qwen3_8b_pretrain_config train.global_batch_size=128\n");
  CHECK(command_of_recipe("recipe = llm.llama3_8b.finetune_recipe(num_nodes=1)\n") ==
        "nemo llm finetune --factory llama3_8b trainer.num_nodes=1 peft.peft_scheme=lora\n");
  CHECK(command_of_recipe("r = llm.llama3_8b.finetune_recipe(peft_scheme=None)\n") ==
        "nemo llm finetune --factory llama3_8b peft.peft_scheme=null\n");
}

TEST_CASE("a recipe may be imported by another name, or have that of its module") {
  const std::string set = "cfg = pretrain_config(mock=True)\ncfg.train.micro_batch_size = 2\n";
  CHECK(command_of_recipe("from megatron.bridge.recipes.qwen.qwen3 import "
                          "qwen3_8b_pretrain_config as pretrain_config\n" +
                          set) ==
        "torchrun run_recipe.py --recipe qwen3_8b_pretrain_config train.micro_batch_size=2\n");
  CHECK(command_of_recipe("from megatron.bridge.recipes.llama.llama3_8b import pretrain_config\n" +
                          set) ==
        "torchrun run_recipe.py --recipe llama3_8b train.micro_batch_size=2\n");
}

TEST_CASE("programs without a recipe, or that define one, ask for none") {
  CHECK(command_of_recipe("import torch\nmodel = train()\n").empty());
  CHECK(command_of_recipe("def llama_pretrain_config(a=1):\n  return a\n").empty());
  CHECK(command_of_recipe("x = pretrain_recipe()\n").empty());
  CHECK(command_of_recipe("r = llm.llama3_8b.pretrain_recipe(num_nodes=(((((").empty() == false);
}

TEST_CASE("a program of many names that nothing sets is read to its end") {
  std::string text = "r = llm.llama3_8b.pretrain_recipe()\n";
  for (int i = 0; i < 40'000; ++i) text += "r.a=bbbbbbb\n";
  CHECK(command_of_recipe(text) == "nemo llm pretrain --factory llama3_8b\n");
}

TEST_CASE("what stands in a recipe's values runs nothing") {
  CHECK(command_of_recipe("r = llm.llama3_8b.pretrain_recipe()\nr.data.paths = \"a; b $(c)\"\n") ==
        "nemo llm pretrain --factory llama3_8b\n");
}

TEST_CASE("a recipe in Python makes a job") {
  const ImportedJob job = job_of_files({{"run.py", kNemo}});
  CHECK(job.model.layers == 32);
  CHECK(job.plan.nodes == 2);
  CHECK(job.plan.tp == 2);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.gbs == 256);
  CHECK(job.plan.zero == 1);
}

}  // namespace
}  // namespace prequel
