#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TEST_CASE("sections that watch or evaluate say nothing of the model") {
  for (const std::string section : {"callbacks", "speed_monitor", "loggers", "eval_loader"}) {
    const ImportedJob job =
        job_of_yaml(kSmallShape + section + ":\n  window_size: 10\n  seq_len: 7\n" +
                    "  monitor:\n    window_size: 10\n");
    CHECK_FALSE(job.model.window);
    CHECK_FALSE(job.plan.seq_len);
  }
  CHECK(job_of_yaml(kSmallShape + "model:\n  window_size: [10, 0]\n").model.window == 10);
}

TEST_CASE("an MLP may be wider by a fraction, and a model be called by its id") {
  const ImportedJob job = job_of_yaml(
      "model:\n  name: mpt_causal_lm\n  d_model: 4096\n  n_layers: 24\n  n_heads: 32\n"
      "  expansion_ratio: 2.6875\n  norm_type: low_precision_rmsnorm\n"
      "  ffn_config:\n    ffn_type: mptgeglu\n");
  CHECK(job.model.ffn_hidden == 11008);
  CHECK(job.model.mlp == Mlp::geglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job_of_yaml("model_id: meta-llama/Meta-Llama-3-70b\nper_device_train_batch_size: 1\n"
                    "max_seq_len: 3072\nfsdp: full_shard auto_wrap offload\n")
            .model.layers == 80);
}

TEST_CASE("what a configuration's base says is no contradiction") {
  const ImportedJob job = job_of_yaml(
      kSmallShape + "overlap_grad_reduce: true\noverlap_param_gather: true\nmicro_batch_size: 1\n");
  CHECK(job.plan.zero == 1);
  CHECK(lists_part(job.report.assumed, "ZeRO 1: --overlap-param-gather needs"));
  CHECK(refusal_of_script(kSmallLaunch + "--overlap-grad-reduce --overlap-param-gather")
            .find("--use-distributed-optimizer") != std::string::npos);
}

TEST_CASE("GPT-NeoX's overlap_comm counts where it trains without stages") {
  const std::string zero =
      kSmallShape + "seq_length: 2048\ntrain_micro_batch_size_per_gpu: 4\n" +
      "zero_optimization:\n  stage: 1\n  overlap_comm: True\nbf16:\n  enabled: true\n";
  CHECK(job_of_yaml(zero + "pipe_parallel_size: 0\n").plan.overlap ==
        WordSet<Overlapped>{Overlapped::grads});
  CHECK(lists_part(job_of_yaml(zero + "pipe_parallel_size: 1\n").report.assumed,
                   "overlap_comm true: has no effect with its pipelines"));
}

TEST_CASE("a launcher's file and a program's configuration are two") {
  const auto with = [](const std::string& file) {
    return job_of_files({{"s.sh", "accelerate launch --config_file=a/" + file +
                                      " --num_processes 8 sft.py --config c.yaml"},
                         {"c.yaml",
                          "model_name_or_path: Qwen/Qwen2.5-1.5B\nbf16: true\n"
                          "per_device_train_batch_size: 2\n"}})
        .plan.zero;
  };
  CHECK(with("zero3.yaml") == 3);
  CHECK(with("fsdp2.yaml") == 3);
  CHECK(with("ddp.yaml") == 0);
}

TEST_CASE("sequences that DeepSpeed or verl shares out go by all-to-all") {
  const ImportedJob job = job_of_script(kSmallLaunch + "--ds-sequence-parallel-size 4 --deepspeed");
  CHECK(job.plan.cp == 4);
  CHECK(job.plan.cp_comm == ContextComm::a2a);
  const ImportedJob verl = job_of_script(
      "torchrun --nnodes 2 --nproc_per_node 8 -m verl.trainer.sft_trainer model.path=Qwen/Qwen3-8B "
      "data.micro_batch_size_per_gpu=2 data.train_batch_size=64 data.max_length=4096 "
      "engine.ulysses_sequence_parallel_size=4");
  CHECK(verl.model.layers == 36);
  CHECK(verl.plan.cp == 4);
  CHECK(verl.plan.zero == 3);
}

TEST_CASE("a recipe's length and dispatcher are not the model's positions and Megatron's default") {
  const ImportedJob job = job_of_script(
      "python perf.py --model_recipe_name deepseek_v3 --num_gpus 64 --gpus_per_node 8 "
      "--expert_model_parallel_size 64 --micro_batch_size 1 --global_batch_size 512");
  CHECK(job.plan.seq_len == 4096);
  CHECK(lists_part(job.report.assumed, "seq_len 4096: what most recipes"));
  CHECK_FALSE(job.plan.dispatcher);
}

TEST_CASE("checkpoints of some layers are said to be predicted of all") {
  const std::string fms =
      "torchrun --nnodes=2 --nproc_per_node=8 main.py --model_variant=llama2_7b --batch_size=2 "
      "--sharding_strategy=fsdp --fsdp_activation_checkpointing=True --selective_checkpointing=";
  CHECK(lists_part(job_of_script(fms + "1/2").report.left_out, "--selective-checkpointing 1/2"));
  CHECK_FALSE(lists_part(job_of_script(fms + "1").report.left_out, "--selective-checkpointing"));
}

TEST_CASE("what NeMo leaves empty switches off what stands beside it") {
  const std::string layers =
      "model:\n  num_layers: 8\n  hidden_size: 512\n"
      "  num_attention_heads: 8\n  encoder_seq_length: 1024\n";
  const ImportedJob off = job_of_yaml(layers +
                                      "  activations_checkpoint_granularity: null\n"
                                      "  activations_checkpoint_method: block\n"
                                      "  fsdp: False\n  fsdp_sharding_strategy: full\n");
  CHECK(off.plan.recompute == Recompute::none);
  CHECK(off.plan.zero == 0);
  CHECK_FALSE(lists_part(off.report.left_out, "--fsdp"));
  const ImportedJob on = job_of_yaml(layers +
                                     "  activations_checkpoint_granularity: full\n"
                                     "  activations_checkpoint_method: block\n"
                                     "  activations_checkpoint_num_layers: 2\n"
                                     "  fsdp: True\n  fsdp_sharding_strategy: full\n");
  CHECK(on.plan.recompute == Recompute::full);
  CHECK(on.plan.recompute_first == 2);
  CHECK(on.plan.zero == 3);
}

TEST_CASE("NeMo's products are counted out") {
  const std::string layers =
      "model:\n  num_layers: 8\n  hidden_size: 512\n"
      "  num_attention_heads: 8\n  encoder_seq_length: 1024\n";
  CHECK(job_of_yaml(layers + "  ffn_hidden_size: ${multiply:3, ${.hidden_size}}\n")
            .model.ffn_hidden == 1536);
  CHECK(job_of_yaml(layers + "  ffn_hidden_size: ${multiply:${model.num_layers},128}\n")
            .model.ffn_hidden == 1024);
  const ImportedJob open = job_of_yaml(layers + "  ffn_hidden_size: ${multiply:4, ${.other}}\n");
  CHECK_FALSE(open.model.ffn_hidden);
  CHECK(lists_part(open.report.assumed, "--ffn-hidden-size is left out: ${multiply:4, "));
}

TEST_CASE("layers that a configuration does not repeat are none, whatever its trainer does else") {
  const std::string verl =
      "data:\n  micro_batch_size_per_gpu: 4\n  max_length: 1024\n"
      "model:\n  partial_pretrain: Qwen/Qwen2.5-7B\n";
  CHECK(job_of_yaml(verl).plan.recompute == Recompute::full);
  CHECK(job_of_yaml(verl + "  enable_gradient_checkpointing: False\n").plan.recompute ==
        Recompute::none);
}

TEST_CASE("Levanter's ranks take their sequences at once") {
  ImportNames names;
  names.cluster = "dgx-a100";
  names.overrides = {{"plan.nodes", "4"}};
  const ImportedJob job = job_of_files(
      {{"c.yaml",
        "model:\n  type: llama\n  hidden_dim: 512\n  num_heads: 8\n  num_layers: 4\n"
        "  seq_len: 1024\ntrainer:\n  mp: p=f32,c=bfloat16\n  train_batch_size: 256\n"}},
      names);
  CHECK(job.plan.dp == 32);
  CHECK(job.plan.mbs == 8);
  const ImportedJob said =
      job_of_files({{"c.yaml",
                     "model:\n  type: llama\n  hidden_dim: 512\n  num_heads: 8\n  num_layers: 4\n"
                     "  seq_len: 1024\ntrainer:\n  mp: p=f32,c=bfloat16\n  train_batch_size: 256\n"
                     "  per_device_parallelism: 4\n"}},
                   names);
  CHECK(said.plan.mbs == 4);
}

TEST_CASE("PaddleNLP's arguments, in JSON behind the program") {
  const std::string json =
      R"({"model_name_or_path": "meta-llama/Llama-2-13b", "per_device_train_batch_size": 1,
          "gradient_accumulation_steps": 32, "tensor_parallel_degree": 2, "sharding": "stage2",
          "max_seq_length": 4096, "bf16": true, "recompute_granularity": "full", "recompute": )";
  const std::string start =
      "python -u -m paddle.distributed.launch --gpus \"0,1,2,3,4,5,6,7\" run_pretrain.py a.json\n";
  const ImportedJob job = job_of_files({{"s.sh", start}, {"a.json", json + "false}"}});
  CHECK(job.model.layers == 40);
  CHECK(job.plan.tp == 2);
  CHECK(job.plan.zero == 2);
  CHECK(job.plan.recompute == Recompute::none);
  CHECK(job.plan.gbs == 128);
  CHECK(job_of_files({{"s.sh", start}, {"a.json", json + "true}"}}).plan.recompute ==
        Recompute::full);
}

TEST_CASE("NeMo-RL's training of one model, and what learns by reinforcement") {
  const std::string policy =
      "policy:\n  model_name: meta-llama/Llama-3.2-1B\n  train_global_batch_size: 32\n"
      "  train_micro_batch_size: 2\n  max_total_sequence_length: 1024\n  precision: bfloat16\n"
      "  dtensor_cfg:\n    enabled: true\n    activation_checkpointing: false\n"
      "  optimizer:\n    name: torch.optim.AdamW\ncluster:\n  gpus_per_node: 8\n  num_nodes: 1\n";
  const ImportedJob job = job_of_yaml("sft:\n  max_num_steps: 60\n" + policy);
  CHECK(job.plan.gbs == 32);
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.seq_len == 1024);
  CHECK(job.plan.zero == 3);
  CHECK(job.report.left_out.empty());
  CHECK(lists_part(job_of_yaml("grpo:\n  max_num_steps: 60\n" + policy).report.left_out,
                   "learns by reinforcement"));
  const auto objective = [](const char* way) {
    return job_of_yaml(kSmallShape + way + "\n").plan.objective;
  };
  CHECK(objective("stage: kto") == Objective::kto);
  CHECK(objective("rl: simpo") == Objective::simpo);
  CHECK(objective("rlhf_type: orpo") == Objective::orpo);
  CHECK(objective("rlhf_type: cpo") == Objective::orpo);
  CHECK(
      lists_part(job_of_yaml(kSmallShape + "rlhf_type: gkd\n").report.left_out, "a second model"));
  CHECK(job_of_yaml(kSmallShape + "rlhf_type: dpo\n").plan.objective == Objective::dpo);
  CHECK_FALSE(lists_part(job_of_yaml(kSmallShape + "stage: sft\n").report.left_out, "second"));
}

TEST_CASE("picotron's JSON and ArcticTraining's YAML") {
  const ImportedJob pico = job_of_files(
      {{"c.json", R"({"distributed": {"tp_size": 2, "cp_size": 1, "pp_size": 2, "dp_size": 2},
                      "model": {"name": "HuggingFaceTB/SmolLM-1.7B"},
                      "training": {"seq_length": 2048, "micro_batch_size": 4,
                                   "gradient_accumulation_steps": 32}})"}});
  CHECK(pico.model.layers == 24);
  CHECK(pico.plan.tp == 2);
  CHECK(pico.plan.gbs == 256);
  const ImportedJob arctic = job_of_yaml(
      "type: sft\nmicro_batch_size: 2\nmodel:\n  name_or_path: meta-llama/Llama-3.1-8B-Instruct\n"
      "data:\n  max_length: 8192\ndeepspeed:\n  zero_optimization:\n    stage: 3\n");
  CHECK(arctic.model.layers == 32);
  CHECK(arctic.plan.zero == 3);
  CHECK(arctic.plan.seq_len == 8192);
}

TEST_CASE("torchtune's configurations are named by family and size") {
  const ImportedJob job = job_of_script(
      "tune run --nnodes 2 --nproc_per_node 8 full_finetune_distributed --config "
      "llama3_3/70B_full tokenizer.max_seq_len=4096 batch_size=4 gradient_accumulation_steps=2\n");
  CHECK(job.model.layers == 80);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.gbs == 128);
  CHECK(lists_part(job.report.left_out, "llama3_3/70B_full: prequel does not know the batches"));
}

TEST_CASE("Llama's multiplier of the width counts before it is rounded up") {
  const std::string shape =
      "num_layers: 60\nhidden_size: 6144\nnum_attention_heads: 48\n"
      "swiglu: true\nmultiple_of: 4096\n";
  CHECK(job_of_yaml(shape).model.ffn_hidden == 16384);
  CHECK(job_of_yaml(shape + "hidden_dim_multiplier: 1.3\n").model.ffn_hidden == 24576);
  CHECK(lists_part(job_of_yaml(shape + "ffn_dim_multiplier: many\n").report.left_out,
                   "is no number from 0 to 64"));
}

TEST_CASE("MosaicML's cloud runs what it also holds, and its parameters are the job") {
  const ImportedJob job = job_of_yaml(
      "command: |\n  python data_prep/convert_dataset_hf.py --dataset c4 --concat_tokens 2048\n"
      "  composer train/train.py /mnt/config/parameters.yaml\n"
      "compute:\n  gpus: 8\nparameters:\n  max_seq_len: 2048\n  model:\n"
      "    name: mpt_causal_lm\n    d_model: 2048\n    n_heads: 16\n    n_layers: 24\n"
      "  global_train_batch_size: 512\n  device_train_microbatch_size: 16\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.mbs == 16);
}

TEST_CASE("StableLM's gated MLP") {
  CHECK(job_of_yaml(kSmallShape + "mlp_type: gated\n").model.mlp == Mlp::swiglu);
}

TEST_CASE("dolomite-engine's configurations") {
  const ImportedJob job = job_of_yaml(
      "model_args:\n  pretrained_config:\n    model_type: gpt_dolomite\n    activation_function: "
      "swiglu\n    add_bias: false\n    n_embd: 2048\n    n_head: 32\n    n_inner: 5632\n    "
      "n_layer: 24\n    n_positions: 4096\n    normalization_function: rmsnorm\n    "
      "num_key_value_heads: 8\n    attention_head_type: gqa\n    vocab_size: 49152\n"
      "training_parameters:\n  micro_batch_size: 8\n  gradient_accumulation_steps: 2\n"
      "mixed_precision_args:\n  dtype: bf16\ndistributed_args:\n  stage: 3\n");
  CHECK(job.model.ffn_hidden == 5632);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.linear_bias == false);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.precision == Precision::bf16);
}

TEST_CASE("a default within a value of Primus stands before what follows it") {
  const ImportedJob job = job_of_yaml(
      "modules:\n  pre_trainer:\n    model: ${PRIMUS_MODEL:llama2_7B}.yaml\n    overrides:\n      "
      "micro_batch_size: 2\n      seq_length: ${PRIMUS_SEQ:4096}\n");
  CHECK(job.model.layers == 32);
  CHECK(job.plan.seq_len == 4096);
}

TEST_CASE("GPT-NeoX's width of a window") {
  CHECK(job_of_yaml(kSmallShape + "sliding_window_width: 4096\n").model.window == 4096);
}

TEST_CASE("containers write the configuration that they train with") {
  const ImportedJob job = job_of_yaml(
      "kind: Job\nspec:\n  containers:\n  - command: [\"/bin/bash\", \"-c\"]\n    args:\n      - "
      "|\n"
      "        cat <<EOF > /tmp/c.yaml\n        base_model: Qwen/Qwen2.5-7B\n        sequence_len: "
      "4096\n        micro_batch_size: 2\n        EOF\n        axolotl train /tmp/c.yaml\n");
  CHECK(job.model.hidden == 3584);
  CHECK(job.plan.mbs == 2);
}

}  // namespace
}  // namespace prequel
