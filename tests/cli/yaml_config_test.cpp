#include "cli/import/configs/config_values.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

std::string refusal_of_yaml(const std::string& yaml) {
  return error_text([&] {
    Facts job = job_with_names();
    read_yaml_config("c.yaml", yaml, yaml_tree("c.yaml", yaml, job.report.left_out), job);
  });
}

TEST_CASE("NeMo's configuration is read as Megatron's flags are") {
  const ImportedJob job = job_of_yaml(R"(
name: megatron_gpt_5b
trainer:
  devices: 8
  num_nodes: 16
  precision: bf16-mixed
model:
  micro_batch_size: 4
  global_batch_size: 2048
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  virtual_pipeline_model_parallel_size: null
  encoder_seq_length: 2048
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 24
  hidden_size: 4096
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 32
  normalization: layernorm1p
  activations_checkpoint_granularity: selective
  sequence_parallel: true
  share_embeddings_and_output_weights: false
  optim:
    name: distributed_fused_adam
    lr: 1.6e-4
  validation_ds:
    micro_batch_size: 1
)");
  CHECK(job.model.layers == 24);
  CHECK(job.model.hidden == 4096);
  CHECK(job.model.tied_embeddings == false);
  CHECK(job.value("devices") == 128);
  CHECK(job.plan.dp == 64);
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.gbs == 2048);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.precision == Precision::bf16);
}

TEST_CASE("Megatron-Bridge's and Primus' configurations are read") {
  const ImportedJob bridge = job_of_yaml(R"(
model:
  _target_: megatron.bridge.models.llama.Llama3ModelProvider
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  num_query_groups: 8
  gated_linear_unit: true
  normalization: RMSNorm
  add_bias_linear: false
  tensor_model_parallel_size: 2
  context_parallel_size: 1
  vocab_size: 128256
  seq_length: 8192
train: {micro_batch_size: 1, global_batch_size: 128}
ddp: {overlap_grad_reduce: true, use_distributed_optimizer: true}
mixed_precision: bf16_mixed
)",
                                         {{}, {}, {}, {{"plan.nodes", "2"}}});
  CHECK(bridge.model.mlp == Mlp::swiglu);
  CHECK(bridge.model.kv_heads == 8);
  CHECK(bridge.model.norm == Norm::rms_norm);
  CHECK(bridge.model.linear_bias == false);
  CHECK(bridge.plan.zero == 1);
  CHECK(bridge.plan.gbs == 128);
  const ImportedJob primus = job_of_yaml(R"(
work_group: ${PRIMUS_TEAM:amd}
modules:
  pre_trainer:
    framework: megatron
    model: llama2_7B.yaml
    overrides:
      num_layers: 32
      hidden_size: 4096
      num_attention_heads: 32
      micro_batch_size: ${PRIMUS_MBS:2}
      global_batch_size: 128
      seq_length: ${PRIMUS_SEQ:4096}
      tensor_model_parallel_size: ${PRIMUS_TP:1}
)");
  CHECK(primus.plan.mbs == 2);
  CHECK(primus.plan.seq_len == 4096);
  CHECK(primus.plan.tp == 1);
}

TEST_CASE("experts, recipes and overlap of YAML are those of the flags") {
  const ImportedJob job = job_of_yaml(R"(
model:
  num_layers: 48
  hidden_size: 2048
  ffn_hidden_size: 6144
  num_attention_heads: 32
  num_query_groups: 4
  kv_channels: 128
  vocab_size: 151936
  seq_length: 4096
  num_moe_experts: 128
  moe_router_topk: 8
  moe_ffn_hidden_size: 768
  moe_token_dispatcher_type: flex
  moe_flex_dispatcher_backend: hybridep
  moe_router_force_load_balancing: true
  moe_shared_expert_overlap: false
  expert_model_parallel_size: 8
  expert_tensor_parallel_size: 1
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 2
  pipeline_model_parallel_layout: Et*12|t*12|t*12|t*12L
  context_parallel_size: 2
  cp_comm_type: a2a+p2p
  recompute_granularity: selective
  recompute_modules: [moe_act, layernorm]
  fine_grained_activation_offloading: true
  offload_modules: [core_attn]
  activation_func_fp8_input_store: true
  cuda_graph_impl: transformer_engine
  cuda_graph_scope: [attn, moe_router]
train: {micro_batch_size: 1, global_batch_size: 128}
comm_overlap: {tp_comm_overlap: true, overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}
mixed_precision: bf16_with_mxfp8_mixed
optimizer: {optimizer_cpu_offload: true, optimizer_offload_fraction: 0.5}
)",
                                      {{}, {}, {}, {{"plan.nodes", "4"}}});
  const PlanRequest& plan = job.plan;
  CHECK(job.model.experts.count == 128);
  CHECK(plan.dispatcher == Dispatcher::hybridep);
  CHECK(plan.router_balance == "forced");
  CHECK(plan.ep == 8);
  CHECK(plan.etp == 1);
  CHECK(plan.cp_comm == ContextComm::a2a_p2p);
  CHECK(plan.layout == "Et*12|t*12|t*12|t*12L");
  CHECK(plan.vpp == 2);
  CHECK(plan.recompute_modules ==
        WordSet<RecomputeModule>{RecomputeModule::moe_act, RecomputeModule::layernorm});
  CHECK(plan.offload_modules == WordSet<OffloadModule>{OffloadModule::core_attn});
  CHECK(plan.fp8_activation_store == true);
  CHECK(plan.cuda_graphs == WordSet<GraphedModule>{GraphedModule::attn, GraphedModule::moe_router});
  CHECK(plan.overlap == WordSet<Overlapped>{Overlapped::tp, Overlapped::ep, Overlapped::wgrad});
  CHECK(plan.precision == Precision::fp8);
  CHECK(plan.fp8_recipe == Fp8Recipe::mxfp8);
  CHECK(plan.optimizer_offload == 0.5);
}

TEST_CASE("torchtitan's settings, as Primus writes them, go with a config of the model") {
  const TemporaryFolder folder;
  const std::vector<std::string> files{folder.with("titan.yaml", R"(
modules:
  pre_trainer:
    framework: torchtitan
    overrides:
      training:
        local_batch_size: 2
        global_batch_size: 64
        seq_len: 4096
      parallelism:
        data_parallel_shard_degree: -1
        tensor_parallel_degree: 4
        pipeline_parallel_degree: 2
        context_parallel_degree: 2
      activation_checkpoint:
        mode: selective
        selective_ac_option: op
)"),
                                       folder.with("config.json", R"({"model_type": "llama",
      "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
      "max_position_embeddings": 8192})")};
  const PlanRequest plan = import_files(files).job.plan;
  CHECK(plan.tp == 4);
  CHECK(plan.pp == 2);
  CHECK(plan.cp == 2);
  CHECK(plan.mbs == 1);  // pipelines take a rank's sequences one by one
  CHECK(plan.gbs == 64);
  CHECK(plan.seq_len == 4096);
  CHECK(plan.zero == 3);
  CHECK(plan.recompute == Recompute::selective);
  CHECK(plan.recompute_modules == WordSet<RecomputeModule>{RecomputeModule::operators});
}

TEST_CASE("GPT-NeoX's configurations are read, also in braces") {
  const std::string pythia = R"({
  # parallelism settings
  "pipe-parallel-size": 1,
  "model-parallel-size": 2,
  "num-layers": 32,
  "hidden-size": 4096,
  "num-attention-heads": 32,
  "seq-length": 2048,
  "max-position-embeddings": 2048,
  "pos-emb": "rotary",
  "no-weight-tying": true,
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 2,
  "zero_optimization": {"stage": 1, "reduce_bucket_size": 1260000000},
  "fp16": {"enabled": true, "loss_scale": 0},
  "checkpoint-activations": true,
})";
  const ImportedJob braces = job_of_yaml(pythia);
  CHECK(braces.model.layers == 32);
  CHECK(braces.model.position == PositionEmbedding::rope);
  CHECK(braces.model.tied_embeddings == false);
  CHECK(braces.plan.tp == 2);
  CHECK(braces.plan.pp == 1);
  CHECK(braces.plan.mbs == 8);
  CHECK(braces.plan.zero == 1);
  CHECK(braces.plan.precision == Precision::fp16);
  CHECK(braces.plan.recompute == Recompute::full);
  CHECK(braces.says("deepspeed"));
  const ImportedJob lines = job_of_yaml(
      "num-layers: 44\nhidden-size: 6144\nnum-attention-heads: 64\n"
      "pipe-parallel-size: 4\nmodel-parallel-size: 2\n"
      "seq-length: 2048\n");
  CHECK(lines.model.layers == 44);
  CHECK(lines.plan.pp == 4);
}

TEST_CASE("GPT-NeoX's residuals beside each other and its kinds of attention are read") {
  const std::string sizes =
      "num-layers: 44\nhidden-size: 6144\nnum-attention-heads: 64\npipe-parallel-size: 4\n"
      "seq-length: 2048\ngpt-j-residual: true\n";
  const ImportedJob flash = job_of_yaml(sizes + "attention-config: [[[\"flash\"], 44]]\n");
  CHECK(flash.model.parallel_block == true);
  CHECK(flash.plan.attention == AttentionKind::flash);
  const ImportedJob products = job_of_yaml(sizes + "attention-config: [[[\"global\"], \"all\"]]\n");
  CHECK(products.plan.attention == AttentionKind::fused_softmax);
  const ImportedJob sparse =
      job_of_yaml(sizes + "attention-config: [[[\"local\", \"flash\"], 22]]\n");
  CHECK_FALSE(sparse.plan.attention);
  CHECK(lists(sparse.report.left_out,
              "--attention-config local flash 22 is not known; predicted without it"));
}

TEST_CASE("NeMo's biases and tokenizers are read where they stand") {
  const ImportedJob job = job_of_yaml(R"(
model:
  num_layers: 80
  hidden_size: 8192
  num_attention_heads: 64
  encoder_seq_length: 4096
  bias: false
  tokenizer:
    library: sentencepiece
    model: /weights/meta-llama/Llama-2-70b/tokenizer.model
)");
  CHECK(job.model.linear_bias == false);
  CHECK(job.model.vocab == 32000);
}

TEST_CASE("a configuration that a script names is missed only where it is not given") {
  const TemporaryFolder folder;
  const std::string script = folder.with("s.sh",
                                         "torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py "
                                         "--yaml-cfg c.yaml --vocab-size 500\n");
  const std::string config = folder.with(
      "c.yaml",
      "language_model:\n  num_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 16\n"
      "seq_length: 4096\nmicro_batch_size: 2\n");
  const ImportReport both = import_files({script, config}).job.report;
  CHECK(both.left_out.empty());
  const std::string more = folder.with(
      "m.sh", "x --yaml-cfg d.yaml --num-layers 2 --hidden-size 64 --num-attention-heads 2\n");
  CHECK(lists(import_files({more}).job.report.left_out,
              "d.yaml: not among the files; prequel import SCRIPT CONFIG reads both"));
}

TEST_CASE("a configuration whose model is another file says which") {
  const TemporaryFolder folder;
  const std::string primus =
      folder.with("p.yaml", "modules:\n  pre_trainer:\n    model: llama2_7B.yaml\n");
  CHECK(error_text([&] { (void)import_files({primus}); }) ==
        primus +
            ": names the model llama2_7B.yaml without its shape; add that file or its config.json");
}

TEST_CASE("configurations of trainers go with a config of the model") {
  const TemporaryFolder folder;
  const std::string model = PREQUEL_FIXTURES "/llama-2-7b-config.json";
  const ImportedJob accelerate =
      import_files({folder.with("a.yaml",
                                "compute_environment: LOCAL_MACHINE\nnum_machines: 2\n"
                                "num_processes: 16\nmixed_precision: bf16\nfsdp_config:\n"
                                "  fsdp_sharding_strategy: FULL_SHARD\n"),
                    model})
          .job;
  CHECK(accelerate.value("devices") == 16);
  CHECK(accelerate.plan.zero == 3);
  CHECK(accelerate.plan.precision == Precision::bf16);
  CHECK(error_text([&] {
          (void)import_files({folder.with("b.yaml",
                                          "model_name_or_path: meta-llama/Llama-3-8B\n"
                                          "per_device_train_batch_size: 1\n")});
        }).find("meta-llama/Llama-3-8B") != std::string::npos);
}

TEST_CASE("YAML that means harm is refused in bounds") {
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "[";
  CHECK(refusal_of_yaml("num_layers: " + deep) != "no error");
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {p: " + before;
    for (const char* key : {"q", "r", "s", "t", "u", "v", "w"}) {
      laughs += std::string(", ") + key + ": " + before;
    }
    laughs += "}\n";
  }
  CHECK(refusal_of_yaml(laughs) == "c.yaml: YAML that expands to over 4 MiB");
  CHECK(refusal_of_yaml("a: b: c").starts_with("c.yaml: not YAML: line 1"));
  CHECK(refusal_of_yaml("- 1\n- 2\n") == "c.yaml: YAML without keys");
}

}  // namespace
}  // namespace prequel
