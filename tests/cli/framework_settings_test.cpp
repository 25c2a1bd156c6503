#include <doctest/doctest.h>

#include "cli/import/settings/by_name.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kLlama =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 32000,
        "num_attention_heads": 32, "intermediate_size": 11008, "max_position_embeddings": 4096})";

TEST_CASE("settings of a command line change the configuration, wherever it stands") {
  const std::pair<std::string, std::string> config = {
      "c.yaml",
      "trainer:\n  num_nodes: 4\n  devices: 8\nmodel:\n  tensor_model_parallel_size: 2\n" +
          std::string("  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n")};
  const std::pair<std::string, std::string> script = {
      "run.sh",
      "python train.py --config-name=c trainer.num_nodes=8 "
      "+model.tensor_model_parallel_size=4 ++model.use_flash_attention=True\n"};
  for (const auto& files : {std::vector{config, script}, std::vector{script, config}}) {
    const ImportedJob job = job_of_files(files);
    CHECK(job.plan.nodes == 8);
    CHECK(job.plan.tp == 4);
    CHECK(job.plan.dp == 16);
    CHECK(job.plan.attention == AttentionKind::flash);
    CHECK(lists(job.report.read, "the command line's settings, over those of configurations"));
  }
  const ImportedJob titan = job_of_files(
      {{"t.toml",
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
        "seq_len = 8192\n[parallelism]\ntensor_parallel_degree = 1\n"},
       {"run.sh",
        "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file t.toml "
        "--training.local_batch_size 2 --parallelism.tensor_parallel_degree=4\n"}});
  CHECK(titan.plan.tp == 4);
  CHECK(titan.plan.mbs == 2);
  const ImportedJob alone = job_of_files({{"run.sh",
                                           "python train.py trainer.devices=8 trainer.num_nodes=2 "
                                           "model.num_layers=24 model.hidden_size=2048 "
                                           "model.num_attention_heads=16 model.bias=False\n"}});
  CHECK(alone.model.layers == 24);
  CHECK(alone.model.linear_bias == false);
  CHECK(alone.value("devices") == 16);
}

TEST_CASE("torchtitan's registered configurations are started by its run_train.sh, by name") {
  const ImportedJob job = job_of_files({{"run.sh",
                                         "NGPU=4 MODULE=llama3 CONFIG=\"llama3_8b\" ./run_train.sh "
                                         "--parallelism.tensor_parallel_degree 2\n"}});
  CHECK(job.says("torchtitan.trains"));
  CHECK(job.model.layers == 32);
  CHECK(job.plan.tp == 2);
  CHECK(job.value("devices") == 4);
}

TEST_CASE("a setting that switches off undoes what the configuration switches on") {
  const ImportedJob job = job_of_files(
      {{"c.yaml",
        "model:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n"
        "  sequence_parallel: true\nfsdp_config:\n  activation_checkpointing: true\n"},
       {"run.sh",
        "SETS=\"model.sequence_parallel=False fsdp_config.activation_checkpointing=false\"\n"
        "python train.py c.yaml $SETS\n"}});
  CHECK(job.plan.sequence_parallel == false);
  CHECK(job.plan.recompute == Recompute::none);
}

TEST_CASE("a configuration that is named and not given is asked for") {
  CHECK(refusal_of_script("python train.py --config-name=gpt_5b trainer.devices=8\n") ==
        "s.sh: names the configuration gpt_5b, which is not among the files; add it");
  CHECK(
      refusal_of_script("torchrun --nproc_per_node 8 train.py --model_name_or_path org/model\n") ==
      "s.sh: names the model org/model without its shape; add that file or its config.json");
}

TEST_CASE("NeMo's own words are read") {
  const ImportedJob job = job_of_yaml(
      "model:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n"
      "  ub_tp_comm_overlap: true\n  qkv_bias: true\n  activation: squared-relu\n"
      "  activations_checkpoint_granularity: selective\n  activations_checkpoint_method: block\n"
      "  activations_checkpoint_num_layers: 0\n  optim:\n    name: mcore_distributed_optim\n"
      "    overlap_grad_sync: true\n    grad_sync_dtype: bf16\n");
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.grad_precision == Precision::bf16);
  CHECK(job.plan.overlap->has(Overlapped::tp));
  CHECK(job.model.mlp == Mlp::squared_relu);
  CHECK(job.model.qkv_bias == true);
  CHECK(job.says("--overlap-grad-reduce"));
  CHECK(error_text([] {
          (void)job_of_yaml(
              "model:\n  encoder:\n    num_layers: 12\n  decoder:\n    num_layers: 12\n");
        }).find("an encoder and a decoder") != std::string::npos);
}

TEST_CASE("keys and values are in groups where a configuration has both switch and number") {
  CHECK(job_of_yaml(kSmallShape + "group_query_attention: true\nnum_query_groups: 4\n")
            .model.kv_heads == 4);
}

TEST_CASE("widths of gated MLPs follow what is said of them") {
  CHECK(job_of_yaml(kSmallShape + "activation_func: swiglu\n").model.ffn_hidden == 5440);
  CHECK(job_of_yaml(kSmallShape + "swiglu: true\nmultiple_of: 256\n").model.ffn_hidden == 5632);
  CHECK(job_of_yaml("d_model: 2048\nn_layers: 16\nn_heads: 16\nmlp_ratio: 8\n"
                    "activation_type: swiglu\n")
            .model.ffn_hidden == 8192);
  CHECK(job_of_yaml("d_model: 4096\nn_layers: 32\nn_heads: 32\nmlp_hidden_size: 22016\n"
                    "activation_type: swiglu\n")
            .model.ffn_hidden == 11008);
  CHECK(job_of_yaml("d_model: 2048\nn_layers: 16\nn_heads: 16\nexpansion_ratio: 3\n")
            .model.ffn_hidden == 6144);
}

TEST_CASE("nanotron's Llama has Llama's block") {
  const ImportedJob job = job_of_yaml(
      "model:\n  model_config:\n    is_llama_config: true\n    hidden_act: silu\n"
      "    num_hidden_layers: 24\n    hidden_size: 2048\n    num_attention_heads: 32\n"
      "    tie_word_embeddings: true\nparallelism:\n  tp: 2\n  tp_mode: REDUCE_SCATTER\n"
      "  pp_engine: afab\n  recompute_layer: true\n");
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.position == PositionEmbedding::rope);
  CHECK(job.model.linear_bias == false);
  CHECK(job.model.tied_embeddings == true);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.schedule == Schedule::gpipe);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job_of_yaml("model:\n  model_config:\n    is_mistral_config: true\n    hidden_size: 2048\n"
                    "    num_hidden_layers: 24\n    num_attention_heads: 32\n")
            .model.position == PositionEmbedding::rope);
}

TEST_CASE(
    "a configuration of nanotron is priced by nanotron's stack, with what it keeps of gathers") {
  const std::string model =
      "model:\n  model_config:\n    is_llama_config: true\n    num_hidden_layers: 24\n"
      "    hidden_size: 2048\n    num_attention_heads: 32\n    vocab_size: 32000\n";
  const std::string parallelism = "parallelism:\n  dp: 4\n  tp: 2\n  tp_mode: REDUCE_SCATTER\n";
  const ImportedJob kept = job_of_yaml(model + parallelism + "  tp_recompute_allgather: false\n");
  CHECK(kept.software == "nanotron-2025");
  CHECK(kept.text("keeps_gathers") == "true");
  CHECK(
      job_of_yaml(model + parallelism + "  tp_recompute_allgather: true\n").text("keeps_gathers") ==
      "false");
  CHECK_FALSE(job_of_yaml(model + parallelism).says("keeps_gathers"));
}

TEST_CASE("GPT-NeoX's YAML in braces may begin with a comment and end with a comma") {
  const ImportedJob job = job_of_files(
      {{"m.yml",
        "# a model\n{\n  \"pipe-parallel-size\": 0,\n  \"num-layers\": 24,\n  "
        "\"hidden-size\": 2048,\n"
        "  \"num-attention-heads\": 16,\n  \"seq-length\": 2048,\n  \"gas\": 4,\n"
        "  \"use_bias_in_attn_linear\": false,\n"
        "  \"train_micro_batch_size_per_gpu\": 2,\n  \"fp16\": {\"enabled\": true,},\n}\n"},
       {"setup.yml",
        "{\n  \"vocab-file\": \"gpt2-vocab.json\",\n  \"num_nodes\": 2,\n"
        "  \"num_gpus\": 8,\n}\n"}});
  CHECK(job.model.layers == 24);
  CHECK(job.value("devices") == 16);
  CHECK(job.plan.gbs == 128);
  CHECK(job.plan.pp == 1);
  CHECK(job.model.linear_bias == false);
  CHECK(job.model.vocab == 50257);
  CHECK(lists_part(job_of_yaml(kSmallShape + "optimizer: {type: onebitadam}\n").report.left_out,
                   "--optimizer onebitadam is not modelled"));
  CHECK(error_text([] {
          (void)job_of_yaml(kSmallShape + "attention_config: [[[\"mamba\"], 24]]\n");
        }).find("layers without attention") != std::string::npos);
}

TEST_CASE("experts of Megatron-DeepSpeed are in every second layer") {
  const auto with = [](const std::string& flags) {
    return job_of_script(kSmallLaunch + "--deepspeed --moe-expert-parallel-size 8 " + flags + "\n");
  };
  const ImportedJob job = with("--num-experts 16");
  CHECK(job.plan.ep == 8);
  CHECK(job.model.experts.count == 16);
  CHECK(job.model.experts.every == 2);
  CHECK(lists(job.report.assumed,
              "experts in every second layer: Megatron-DeepSpeed's, as no --expert-interval says "
              "otherwise"));
  CHECK(with("--num-experts 16 --expert-interval 1 --topk 2").model.experts.every == 1);
  const ImportedJob pyramid = with("--num-experts 32 32 64");
  CHECK(pyramid.model.experts.count == 64);
  CHECK(lists(pyramid.report.left_out,
              "--num-experts: differs from layer to layer; predicted with 64 in each"));
}

TEST_CASE("states are sharded and kept where trainers say it") {
  const auto with = [](const std::string& flags) {
    return job_of_files({{"s.sh", "torchrun --nproc_per_node 8 train.py " + flags + "\n"},
                         {"config.json", kLlama}});
  };
  CHECK(with("--fsdp 'full_shard auto_wrap offload'").plan.offload == Offload::optimizer_params);
  CHECK(with("--fsdp_sharding_strategy SHARD_GRAD_OP").plan.zero == 2);
  const ImportedJob hybrid = with("--fsdp hybrid_shard");
  CHECK(hybrid.plan.zero == 3);
  CHECK(hybrid.plan.sharding_group == ShardingGroup::node);
  CHECK(with("--use_fsdp").plan.zero == 3);
  CHECK(with("--block_size 1024 --optim adamw_torch").plan.seq_len == 1024);
  const ImportedJob host =
      job_of_files({{"a.yaml",
                     "deepspeed_config:\n  zero_stage: 3\n"
                     "  offload_optimizer_device: cpu\n  offload_param_device: none\n"},
                    {"config.json", kLlama}});
  CHECK(host.plan.offload == Offload::optimizer);
  const ImportedJob second =
      job_of_files({{"y.yaml",
                     "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n"
                     "  activation_checkpointing: true\ntensor_parallel_size: 2\n"},
                    {"config.json", kLlama}});
  CHECK(second.plan.zero == 3);
  CHECK(second.plan.recompute == Recompute::full);
  CHECK(second.plan.tp == 2);
  CHECK(job_of_files(
            {{"x.yaml", "fsdp_config:\n  fsdp_offload_params: true\nflash_attention: true\n"},
             {"config.json", kLlama}})
            .plan.offload == Offload::optimizer_params);
}

TEST_CASE("DeepSpeed's stage is known by its configuration's name where that is all there is") {
  const auto with = [](const std::string& config) {
    return job_of_files({{"s.sh", "deepspeed --num_gpus 8 train.py --deepspeed " + config + "\n"},
                         {"config.json", kLlama}});
  };
  CHECK(with("configs/ds_z2_config.json").plan.zero == 2);
  CHECK(lists(with("zero3").report.assumed, "ZeRO 3: by the name of zero3"));
  CHECK_FALSE(with("ds_config.json").plan.zero);
}

TEST_CASE("experts and batches by the names of other programs") {
  const ImportedJob job =
      job_of_script(kSmallLaunch +
                    "--num-experts 64 --moe-router-topk 6 --moe-intermediate-size 1408 "
                    "--first-k-dense-replace 1 --n-shared-experts 2\n");
  CHECK(job.model.experts.ffn_hidden == 1408);
  CHECK(job.model.experts.shared_hidden == 2816);
  CHECK(job.model.experts.first_dense == 1);
  const ImportedJob batches =
      job_of_files({{"s.sh",
                     "torchrun --nproc_per_node 8 train.py --train_batch_size 256 "
                     "--micro_train_batch_size 2 --max_len 2048 --flash_attn\n"},
                    {"config.json", kLlama}});
  CHECK(batches.plan.gbs == 256);
  CHECK(batches.plan.mbs == 2);
  CHECK(batches.plan.seq_len == 2048);
  CHECK(batches.plan.attention == AttentionKind::flash);
}

TEST_CASE(
    "adapters are trained where a flag asks for them, and what trains beside other models is "
    "told") {
  for (const char* flags : {"--lora_r 8", "--use_peft True", "--q_lora True", "--lora-dim 128"}) {
    CAPTURE(flags);
    CHECK(job_of_script(kSmallLaunch + flags + "\n").plan.tuning == Tuning::lora);
  }
  CHECK(job_of_script(kSmallLaunch + "--q_lora True\n").plan.base_precision == BaseFormat::nf4);
  CHECK_FALSE(job_of_script(kSmallLaunch + "--q_lora False\n").plan.tuning);
  CHECK(job_of_yaml(kSmallShape + "model:\n  peft:\n    peft_scheme: lora\n").plan.tuning ==
        Tuning::lora);
  const ImportedJob full = job_of_files(
      {{"c.yaml", "finetuning_type: full\ncutoff_len: 2048\n"}, {"config.json", kLlama}});
  CHECK(full.plan.recompute == Recompute::full);
  CHECK(full.plan.seq_len == 2048);
  const auto objective_of = [](const std::string& program) {
    return job_of_files({{"s.sh", program + " --bf16\n"}, {"config.json", kLlama}}).plan.objective;
  };
  CHECK(objective_of("torchrun --nproc_per_node 8 scripts/run_dpo.py") == Objective::dpo);
  CHECK(objective_of("torchrun --nproc_per_node 8 trl/scripts/kto.py") == Objective::kto);
  CHECK(objective_of("trl orpo --max_length 1024") == Objective::orpo);
  CHECK_FALSE(objective_of("torchrun --nproc_per_node 8 trl/scripts/sft.py"));
}

TEST_CASE("how answers are generated says nothing of the training") {
  const ImportedJob job =
      job_of_files({{"s.sh",
                     "python3 -m verl.trainer.main_ppo actor.ppo_mini_batch_size=256 "
                     "actor.rollout.tensor_model_parallel_size=2\n"},
                    {"config.json", kLlama}});
  CHECK_FALSE(job.plan.tp);
  CHECK(lists_part(job.report.left_out, "verl.trainer.main_ppo: learns by reinforcement"));
}

TEST_CASE("llm-foundry's configuration is read") {
  const ImportedJob job = job_of_yaml(
      "max_seq_len: 2048\nmodel:\n  d_model: 2048\n  n_heads: 16\n  n_layers: 24\n"
      "  vocab_size: 50368\n  attn_config:\n    attn_impl: torch\nprecision: amp_bf16\n"
      "global_train_batch_size: 512\ndevice_train_microbatch_size: auto\nfsdp_config:\n"
      "  sharding_strategy: FULL_SHARD\n  activation_checkpointing: true\n");
  CHECK(job.model.layers == 24);
  CHECK(job.model.max_positions == 2048);
  CHECK(job.plan.gbs == 512);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.attention == AttentionKind::unfused);
  CHECK(lists(job.report.assumed, "--micro-batch-size is left out: auto leaves it to the program"));
}

TEST_CASE("a container's arguments are a command line") {
  const ImportedJob job = job_of_yaml(
      "spec:\n  containers:\n  - command: [\"torchrun\"]\n    args: [\"--nnodes=4\", "
      "\"--nproc_per_node=8\", \"pretrain_gpt.py\", \"--num-layers\", \"24\", \"--hidden-size\", "
      "\"2048\", \"--num-attention-heads\", \"16\"]\n");
  CHECK(job.value("devices") == 32);
  CHECK(job.model.layers == 24);
}

TEST_CASE("OLMo's multi-query attention has one head of keys and values") {
  const std::string olmo = "model:\n  d_model: 4096\n  n_heads: 32\n  n_layers: 32\n";
  CHECK_FALSE(job_of_yaml(olmo).model.kv_heads);
  CHECK(job_of_yaml(olmo + "  multi_query_attention: true\n").model.kv_heads == 1);
  CHECK_FALSE(job_of_yaml(olmo + "  multi_query_attention: false\n").model.kv_heads);
}

TEST_CASE("the shape of an encoder is not that of a decoder") {
  CHECK_THROWS_AS(job_of_yaml("model:\n  encoder:\n    d_model: 512\n    n_heads: 8\n"
                              "    n_layers: 17\n"),
                  InputError);
}

TEST_CASE("a part of a node is no whole one") {
  ImportNames names;
  names.cluster = "dgx-a100";
  const ImportedJob job = job_of_files(
      {{"s.sh", "torchrun --nproc_per_node=4 train.py --bf16\n"}, {"config.json", kLlama}}, names);
  CHECK_FALSE(job.plan.nodes);
  CHECK(job.plan.dp == 4);
}

TEST_CASE("a stack with flash attention is assumed where DeepSpeed's have none") {
  CHECK(job_of_script(kSmallLaunch + "--deepspeed --use-flash-attn-v2 --zero-stage 1\n").software ==
        "megatron-core-2024");
  CHECK(job_of_script(kSmallLaunch + "--deepspeed --use-flash-attn-v2 --zero-stage 3\n").software ==
        "pytorch-fsdp2-2024");
}

TEST_CASE("a script takes the stack of its cluster where that suits it") {
  ImportNames names;
  names.cluster = "dgx-h100";
  const auto stack = [&](const std::string& flags) {
    return job_of_files({{"s.sh", kSmallLaunch + flags}}, names).software;
  };
  CHECK(stack("--use-flash-attn --overlap-grad-reduce\n") == "megatron-core-2026");
  CHECK(stack("--deepspeed --zero-stage 1\n") == "megatron-deepspeed-2023");
  names.cluster = "jean-zay-a100";
  CHECK(stack("--use-flash-attn --overlap-grad-reduce\n") == "megatron-core-2024");
  CHECK_FALSE(stack("--deepspeed --zero-stage 1\n"));
}

TEST_CASE("flags as keys of YAML are flags, and take variables that the user gives") {
  ImportNames names;
  names.script.environment = {"TP=4"};
  const ImportedJob job =
      job_of_files({{"m.yaml",
                     "ENV_VARS:\n  NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 24\n"
                     "  --hidden-size: 2048\n  --num-attention-heads: 16\n"
                     "  --seq-length: 2048\n  --tensor-model-parallel-size: ${TP}\n"
                     "  --moe-layer-freq: ([0]*3+[1]*21)\n  --bf16: true\n"}},
                   names);
  CHECK(job.model.layers == 24);
  CHECK(job.plan.tp == 4);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK_FALSE(job.says("deepspeed"));
}

TEST_CASE("GPT-NeoX's words for half precision and for Llama's MLP are read") {
  const std::string braces =
      R"({"pipe_parallel_size": 0, "num_layers": 24, "hidden_size": 4096, "num_attention_heads": 32,
          "seq_length": 2048, "mlp_type": "llama", "fp16": {"enabled": true, "type": "bfloat16"}})";
  for (const char* name : {"a.yml", "a.json"}) {
    const ImportedJob job = job_of_files({{name, braces}});
    CHECK(job.model.ffn_hidden == 11008);
    CHECK(job.plan.precision == Precision::bf16);
  }
  const std::string small = R"({"launcher": "slurm", "tokenizer_type": "GPT2BPETokenizer"})";
  CHECK(job_of_files({{"a.yml", braces}, {"b.yml", small}}).model.layers == 24);
  const ImportedJob residual = job_of_script(kSmallLaunch + "--mlp-type residual\n");
  CHECK(lists_part(residual.report.left_out, "--mlp-type changes"));
}

TEST_CASE("a flag goes over the key of a configuration that has its name") {
  const std::pair<std::string, std::string> config = {
      "c.yaml",
      "model:\n  d_model: 2048\n  n_layers: 24\n  n_heads: 16\n  name: x\n"
      "global_train_batch_size: 2048\n"};
  const std::pair<std::string, std::string> script = {
      "s.sh",
      "torchrun --nproc_per_node 8 --nnodes 4 train.py c.yaml --name y "
      "--global_train_batch_size=2160\n"};
  CHECK(job_of_files({script, config}).plan.gbs == 2160);
  CHECK(job_of_files({config, script}).plan.gbs == 2160);
}

TEST_CASE("what hired machines run is read from their configuration") {
  const std::string launch =
      "torchrun --nproc_per_node=$G pretrain_gpt.py --num-layers 24 "
      "--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--micro-batch-size ${MICRO}";
  const ImportedJob sky = job_of_files({{"s.yaml",
                                         "num_nodes: 4\nresources:\n  accelerators: H100:8\n"
                                         "envs:\n  MICRO: 2\nrun: |\n  cd x\n  " +
                                             launch + "\n"}});
  CHECK(sky.model.layers == 24);
  CHECK(sky.value("devices") == 32);
  CHECK(sky.plan.mbs == 2);
  const ImportedJob azure = job_of_files(
      {{"a.yml", "$schema: https://x\ncommand: >-\n  " + launch +
                     "\nenvironment_variables:\n  MICRO: 4\nresources:\n  instance_count: 2\n"
                     "distribution:\n  process_count_per_instance: 4\n"}});
  CHECK(azure.value("devices") == 8);
  CHECK(azure.plan.mbs == 4);
  const ImportedJob pods =
      job_of_files({{"v.yaml",
                     "kind: Job\nspec:\n  tasks:\n    - containers:\n        - env:\n"
                     "            - name: MICRO\n              value: \"3\"\n"
                     "          command: [/bin/bash, -c, \"G=8; " +
                         launch + " --nnodes 2\"]\n"}});
  CHECK(pods.value("devices") == 16);
  CHECK(pods.plan.mbs == 3);
}

TEST_CASE("trainers' settings may be JSON, and sizes may change a family's") {
  const ImportedJob job =
      job_of_files({{"run.sh", "torchrun --nproc_per_node 8 --nnodes 2 run_clm.py args.json\n"},
                    {"args.json", R"({"model_name_or_path": "Qwen/Qwen2.5-7B", "block_size": 4096,
                               "per_device_train_batch_size": 4, "bf16": true})"}});
  CHECK(job.model.layers == 28);
  CHECK(job.plan.mbs == 4);
  const ImportedJob sizes = job_of_script(
      "torchrun --nproc_per_node 8 run_clm.py --model_type gpt2 --block_size 1024 "
      "--config_overrides=\"n_embd=1024,n_head=16,n_layer=24,n_positions=1024\"\n");
  CHECK(sizes.model.hidden == 1024);
  CHECK(sizes.model.layers == 24);
  const ImportedJob plugin = job_of_files(
      {{"r.sh", "accelerate launch --config_file m.yaml t.py --config_name gpt2-large\n"},
       {"m.yaml",
        "distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config:\n"
        "  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n"}});
  CHECK(plugin.model.layers == 36);
  CHECK(plugin.plan.tp == 2);
  CHECK(plugin.plan.dp == 2);
}

TEST_CASE("programs by other launchers: torchtune, LitGPT, LLaMA-Factory, docker") {
  const ImportedJob tune = job_of_files(
      {{"r.sh", "tune run --nproc_per_node 8 full_finetune_distributed --config t.yaml\n"},
       {"t.yaml",
        "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n"
        "batch_size: 2\ngradient_accumulation_steps: 4\n"
        "enable_activation_checkpointing: true\n"}});
  CHECK(tune.model.layers == 32);
  CHECK(tune.plan.gbs == 64);
  CHECK(tune.plan.zero == 3);
  CHECK(tune.plan.recompute == Recompute::full);
  const ImportedJob lit = job_of_script(
      "litgpt pretrain pythia-160m --train.global_batch_size 256 --train.micro_batch_size 8 "
      "--train.max_seq_length 2048 --devices 4\n");
  CHECK(lit.model.layers == 12);
  CHECK(lit.value("devices_per_node") == 4);
  CHECK(lit.plan.zero == 3);
  const ImportedJob factory =
      job_of_files({{"r.sh", "NNODES=2 llamafactory-cli train t.yaml\n"},
                    {"t.yaml",
                     "model_name_or_path: mistralai/Mistral-7B-v0.1\nfinetuning_type: full\n"
                     "per_device_train_batch_size: 2\ncutoff_len: 4096\n"}});
  CHECK(factory.plan.nodes == 2);
  CHECK(factory.model.kv_heads == 8);
  const ImportedJob swift = job_of_script(
      "NNODES=2 NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-14B --train_type full "
      "--per_device_train_batch_size 1 --max_length 4096 --deepspeed zero3\n");
  CHECK(swift.model.layers == 48);
  CHECK(swift.value("devices") == 16);
  CHECK(swift.plan.zero == 3);
  const ImportedJob fms = job_of_script(
      "torchrun --nnodes=4 --nproc_per_node=8 main_training_llama.py --model_variant=llama3_8b "
      "--batch_size=2 --seq_length=4096 --sharding_strategy=hsdp\n");
  CHECK(fms.model.layers == 32);
  CHECK(fms.plan.zero == 3);
  CHECK(fms.plan.sharding_group == ShardingGroup::node);
  const ImportedJob docker =
      job_of_script("docker run --gpus all image bash -c '" + kSmallLaunch + "'\n");
  CHECK(docker.model.layers == 24);
  CHECK(docker.value("devices") == 32);
}

TEST_CASE("what kept a shape from being read is said") {
  const std::string flags = "torchrun train.py --num-layers ${L[$SLURM_ARRAY_TASK_ID]} --x 1\n";
  CHECK(refusal_of_script("L=(24 32)\n. sizes.sh\n" + flags) ==
        "s.sh: no --num-layers and --hidden-size found; it starts train.py; nothing of sizes.sh, "
        "which the script sources; give sizes.sh, too; --num-layers is left out: "
        "${L[$SLURM_ARRAY_TASK_ID]} could not be resolved; --env NAME=VALUE gives it; expected a "
        "launch script, a configuration in YAML or TOML, a Hugging Face or DeepSpeed config, or a "
        "training log (with its script)");
}

TEST_CASE("names of shapes and layouts that nothing reads are told") {
  Facts job = job_with_names();
  ImportReport& report = job.report;
  report.ignored = {"rope_scaling",  "--norm-epsilon", "--moe-router-dtype", "--new-mlp-width 4",
                    "model.pp_size", "--lr",           "--eval-batch-size",  "$X (not resolved)"};
  tell_by_names(1, job);
  CHECK(report.ignored == std::vector<std::string>{"rope_scaling", "--norm-epsilon",
                                                   "--moe-router-dtype", "--lr",
                                                   "--eval-batch-size", "$X (not resolved)"});
  REQUIRE(report.left_out.size() == 2);
  CHECK(report.left_out[0] ==
        "--new-mlp-width 4: unknown, but may change the model, its layout or its memory; predicted "
        "without it");
  CHECK(report.left_out[1].starts_with("model.pp_size: "));
  CHECK(lists_part(job_of_script(kSmallLaunch + "--inner-ffn-dim 3\n").report.left_out,
                   "--inner-ffn-dim"));
}

TEST_CASE("files of Cerebras and of Python are refused as such") {
  CHECK(error_text([] {
          (void)job_of_yaml(kSmallShape + "runconfig:\n  num_csx: 1\n");
        }).find("Cerebras") != std::string::npos);
  CHECK(error_text([] {
          (void)job_of_files({{"c.py", "batch_size = 12\nfor x in y:\n  pass\n"}});
        }).find("looks like a program in Python") != std::string::npos);
}

TEST_CASE("a word that a known flag does not know is told") {
  const ImportedJob job = job_of_script(kSmallLaunch +
                                        "--position-embedding-type spiral --xielu "
                                        "--attention-backend auto --activation-func xielu\n");
  CHECK(lists_part(job.report.left_out, "--position-embedding-type spiral is not known"));
  CHECK(lists_part(job.report.left_out, "--activation-func xielu is not known"));
  CHECK(lists_part(job.report.left_out, "--xielu: unknown"));
  CHECK_FALSE(lists_part(job.report.left_out, "--attention-backend"));
  CHECK(job_of_script(kSmallLaunch + "--position-embedding-type yarn\n").model.position ==
        PositionEmbedding::rope);
}

TEST_CASE("fp8 that is off has the last word on its recipe") {
  const std::string fp8 = "precision: bf16\nfp8_hybrid: true\nfp8_e4m3: false\n";
  CHECK(job_of_yaml(kSmallShape + fp8 + "fp8: false\n").plan.precision == Precision::bf16);
  CHECK(job_of_yaml(kSmallShape + fp8 + "fp8: true\n").plan.precision == Precision::fp8);
  CHECK(
      job_of_yaml("model:\n  num_layers: 2\n  hidden_size: 64\n  fp8: false\n  fp8_hybrid: true\n")
          .plan.precision == Precision::bf16);
}

TEST_CASE("settings behind installed programs and within a flag are their own") {
  const ImportedJob tune = job_of_files(
      {{"r.sh", "tune run --nproc_per_node 8 full --config t.yaml batch_size=4\n"},
       {"t.yaml",
        "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 2\n"}});
  CHECK(tune.plan.mbs == 4);
  const ImportedJob sizes = job_of_script(
      "srun bash -c 'torchrun --nproc_per_node 8 run_clm.py --model_type gpt2 --block_size 1024 "
      "--config_overrides \"n_embd=1024,n_head=16,n_layer=24\"'\n");
  CHECK(sizes.model.hidden == 1024);
  CHECK(sizes.model.layers == 24);
}

TEST_CASE("a configuration that a script writes is read, and nodes from so many to so many") {
  const ImportedJob job = job_of_script(
      "CFG=$(mktemp)\ncat > $CFG <<END\ndistributed_type: FSDP\nmixed_precision: bf16\n"
      "fsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\nnum_machines: 2\nEND\n"
      "accelerate launch --config_file $CFG --num_processes 16 run_clm.py --config_name gpt2-large "
      "--block_size 1024 --per_device_train_batch_size 2\n");
  CHECK(job.plan.zero == 2);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.value("devices") == 16);
  const ImportedJob mail = job_of_script(kSmallLaunch + "\ncat <<END\nSubject: done\n- [\nEND\n");
  CHECK(mail.model.layers == 24);
  CHECK(lists_part(mail.report.left_out, "(here-document): not YAML"));
  const std::string launch =
      "--nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --RMSNorm "
      "--overlapped-distributed-optimizer --num-attention-heads 2 --seq-length 128\n";
  const ImportedJob elastic = job_of_script("torchrun --nnodes=1:4 " + launch);
  CHECK(elastic.plan.nodes == 4);
  CHECK(lists(elastic.report.assumed, "--nnodes 4: the most of 1:4"));
  CHECK(elastic.model.norm == Norm::rms_norm);
  CHECK(elastic.plan.zero == 1);
  CHECK(job_of_script("torchrun --nnodes=3:3 " + launch).plan.nodes == 3);
  const std::string beaker = "gantry run --replicas 4 --gpus 8 -- torchrun --nnodes 4:4 " + launch;
  CHECK(job_of_script(beaker).value("devices") == 32);
  CHECK(refusal_of_script("torchrun --nnodes=3:x " + launch).find("got \"3:x\"") !=
        std::string::npos);
}

TEST_CASE("HyperPod's recipes: batches of a device, shards of some ranks") {
  const ImportedJob job = job_of_yaml(
      "trainer:\n  devices: 8\n  num_nodes: 4\nmodel:\n  model_type: llama_v3\n"
      "  num_hidden_layers: 16\n  hidden_size: 2048\n  num_attention_heads: 16\n"
      "  llama_intermediate_size: 8192\n  max_context_width: 4096\n  train_batch_size: 2\n"
      "  max_position_embeddings: ${.max_context_width}\n"
      "  sharding_strategy: hybrid_shard\n  shard_degree: 8\n");
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.gbs == 64);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.sharding_group == ShardingGroup::node);
  CHECK(job.model.ffn_hidden == 8192);
  CHECK(job.model.max_positions == 4096);
}

TEST_CASE("learning by reinforcement is told by its flags, and RWKV is refused") {
  CHECK(lists_part(job_of_script(kSmallLaunch + "--advantage-estimator grpo\n").report.left_out,
                   "learns by reinforcement"));
  CHECK(refusal_of_script(kSmallLaunch + "--head_size_a 64\n").find("without attention") !=
        std::string::npos);
}

TEST_CASE("accelerate's kind of distribution shards, and auto is not fp32") {
  const ImportedJob job = job_of_files(
      {{"a.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 16\n"},
       {"r.sh", "accelerate launch --config_file a.yaml t.py --config_name gpt2-large\n"}});
  CHECK(job.plan.zero == 3);
  CHECK(job.value("devices") == 16);
}

TEST_CASE("what FSDP shards is not priced by a cluster's stack that shards no gradients") {
  const auto software = [](const char* cluster) {
    ImportNames names;
    names.cluster = cluster;
    return job_of_files(
               {{"a.yaml", "distributed_type: FSDP\nnum_processes: 16\n"}, {"config.json", kLlama}},
               names)
        .software;
  };
  CHECK(software("dgx-h100") == "pytorch-fsdp2-2024");
  CHECK_FALSE(software("mosaic-h100"));  // its own has FSDP
}

}  // namespace
}  // namespace prequel
