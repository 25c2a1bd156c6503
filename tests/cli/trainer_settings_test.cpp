#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TEST_CASE("Transformer Engine's attention has no softmax of its own to fuse") {
  const std::string unfused = "--no-masked-softmax-fusion ";
  CHECK(job_of_script(kSmallLaunch + unfused).plan.attention == AttentionKind::unfused);
  const ImportedJob core = job_of_script(kSmallLaunch + unfused + "--use-mcore-models");
  CHECK_FALSE(core.plan.attention);
  CHECK(lists_part(core.report.assumed, "--no-masked-softmax-fusion: without effect on"));
  CHECK(job_of_script(kSmallLaunch + unfused + "--use-mcore-models --transformer-impl local")
            .plan.attention == AttentionKind::unfused);
  CHECK(job_of_script(kSmallLaunch + "--use-mcore-models --attention-backend unfused")
            .plan.attention == AttentionKind::unfused);
}

TEST_CASE("more devices than a node has are those of all nodes") {
  const std::string model = "--model_recipe_name llama3_8b --tensor_model_parallel_size 2 ";
  const ImportedJob bridge = job_of_script(
      "python run.py --num_gpus 64 --gpus_per_node 8 --compute_dtype fp8_cs "
      "--virtual_pipeline_model_parallel_size 2 --pipeline_model_parallel_size 4 " +
      model);
  CHECK(bridge.value("devices") == 64);
  CHECK(bridge.plan.nodes == 8);
  CHECK(bridge.plan.dp == 8);
  CHECK(bridge.plan.vpp == 2);
  CHECK(bridge.plan.precision == Precision::fp8);
  CHECK(bridge.plan.fp8_recipe == Fp8Recipe::current);
  CHECK(bridge.plan.zero == 1);  // of recipes
  CHECK(job_of_script("python run.py --num_gpus 64 " + model).value("devices") == 64);
  ImportNames more;
  more.overrides.push_back({"plan.nodes", "16"});
  CHECK(job_of_script("python run.py --num_gpus 64 --gpus_per_node 8 " + model, more).plan.dp ==
        64);
  const ImportedJob each = job_of_script("deepspeed --num_nodes 2 --num_gpus 8 run.py " + model);
  CHECK(each.value("devices") == 16);
}

TEST_CASE("accelerate's switch for DeepSpeed and the name of its file say the stage") {
  const auto with = [](const std::string& file) {
    return job_of_script(
               "accelerate launch --num_processes 8 --use_deepspeed "
               "--deepspeed_config_file " +
               file + " tune.py --model_name_or_path meta-llama/Llama-2-7b-hf")
        .plan;
  };
  CHECK(with("stage3_no_offloading.conf").zero == 3);
  CHECK_FALSE(with("stage3_no_offloading.conf").offload);
  CHECK(with("stage2_offloading.conf").zero == 2);
  CHECK(with("stage2_offloading.conf").offload == Offload::optimizer);
}

TEST_CASE("trainers' defaults hold where nothing else is said") {
  const ImportedJob verl = job_of_script(
      "torchrun --nnodes 2 --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer "
      "model.partial_pretrain=Qwen/Qwen2.5-7B data.micro_batch_size_per_gpu=4 "
      "data.train_batch_size=256 data.max_length=2048 ulysses_sequence_parallel_size=2");
  CHECK(verl.plan.zero == 3);
  CHECK(verl.plan.recompute == Recompute::full);
  CHECK(verl.plan.mbs == 4);
  CHECK(verl.plan.gbs == 256);
  CHECK(verl.plan.seq_len == 2048);
  CHECK(verl.plan.cp == 2);
  CHECK(verl.plan.cp_comm == ContextComm::a2a);
  CHECK(verl.plan.dp == 8);
  CHECK(verl.model.layers == 28);

  const ImportedJob swift = job_of_script(
      "NPROC_PER_NODE=8 NNODES=2 megatron sft --model Qwen/Qwen3-30B-A3B "
      "--tensor_model_parallel_size 2 --expert_model_parallel_size 8 --micro_batch_size 1 "
      "--global_batch_size 16 --max_length 4096 --sequence_parallel true");
  CHECK(swift.plan.zero == 1);
  CHECK(swift.plan.etp == 1);
  CHECK(swift.plan.dispatcher == Dispatcher::alltoall);

  const ImportedJob levanter = job_of_yaml(
      "model:\n  type: llama\n  seq_len: 4096\n  hidden_dim: 4096\n  intermediate_dim: 11008\n"
      "  num_layers: 32\n  num_heads: 32\n  num_kv_heads: 8\n"
      "trainer:\n  mp: p=f32,c=bfloat16\n  train_batch_size: 256\n");
  CHECK(levanter.model.hidden == 4096);
  CHECK(levanter.model.ffn_hidden == 11008);
  CHECK(levanter.model.kv_heads == 8);
  CHECK(levanter.model.mlp == Mlp::swiglu);
  CHECK(levanter.plan.gbs == 256);
  CHECK(levanter.plan.zero == 3);
  CHECK(levanter.plan.recompute == Recompute::full);
  CHECK(levanter.plan.precision == Precision::bf16);
  CHECK(levanter.software == "maxtext-2025");
}

TEST_CASE("a shape that PyTorch's FSDP shards goes with a stack of its kind") {
  const std::string mosaic =
      "model:\n  name: mpt_causal_lm\n  d_model: 2048\n  n_layers: 24\n  n_heads: 16\n"
      "device_train_microbatch_size: 4\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n";
  CHECK(job_of_yaml(mosaic).software == "composer-late-2023");
  const std::string olmo =
      "model:\n  d_model: 2048\n  n_layers: 24\n  n_heads: 16\n  flash_attention: true\n"
      "  attention_layer_norm: true\ndevice_train_microbatch_size: 4\n"
      "fsdp:\n  precision: mixed\n";
  CHECK(job_of_yaml(olmo).software == "pytorch-fsdp2-2024");
  CHECK(job_of_yaml(olmo).plan.zero == 3);
  CHECK(job_of_yaml(olmo).model.qk_norm == true);
}

TEST_CASE("weights in bf16 alone keep moments and gradients so") {
  const std::string torchtune =
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 1\ndtype: ";
  const ImportedJob pure = job_of_yaml(torchtune + "bf16\n");
  CHECK(pure.plan.moments_precision == Precision::bf16);
  CHECK(pure.plan.grad_precision == Precision::bf16);
  CHECK(pure.plan.master_weights == MasterWeights::none);
  CHECK_FALSE(job_of_yaml(torchtune + "fp32\n").plan.moments_precision);
}

TEST_CASE("torchtune's optimizers, losses and offloading are read, and its own stack trains") {
  const std::string shape =
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 2\ndtype: bf16\n"
      "gradient_accumulation_steps: 1\ncompile: True\n";
  const ImportedJob full = job_of_yaml(
      shape +
      "optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\noptimizer_in_bwd: True\n"
      "loss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n"
      "enable_activation_checkpointing: True\nenable_activation_offloading: True\n");
  CHECK(full.software == "torchtune-2025");
  CHECK(full.plan.optimizer == Optimizer::adam_paged_in_backward);
  CHECK(full.plan.loss == LossForm::chunked);
  CHECK(full.plan.recompute == Recompute::full);
  CHECK(full.plan.offload_modules == WordSet<OffloadModule>{OffloadModule::attn_norm});
  const ImportedJob plain =
      job_of_yaml(shape +
                  "optimizer:\n  _component_: torch.optim.AdamW\n"
                  "optimizer_in_bwd: True\nenable_activation_checkpointing: False\n");
  CHECK(plain.plan.optimizer == Optimizer::adam_in_backward);
  CHECK(plain.plan.recompute == Recompute::none);
  CHECK_FALSE(plain.plan.offload_modules);
}

TEST_CASE("LLaMA-Factory fills its rows in stage pt, unless packing is off") {
  const std::string shape =
      "model_name_or_path: mistralai/Mistral-7B-v0.1\nfinetuning_type: full\nstage: pt\n"
      "dataset: alpaca_en_demo\ncutoff_len: 4096\nper_device_train_batch_size: 1\n";
  CHECK(job_of_yaml(shape).plan.lengths == "fixed");
  CHECK(job_of_yaml(shape + "packing: true\n").plan.lengths == "fixed");
  CHECK_FALSE(job_of_yaml(shape + "packing: true\n").plan.packing);
  CHECK(job_of_yaml(shape + "packing: false\n").plan.lengths == "alpaca-en");
}

TEST_CASE("DeepSpeed reduces beside passes where its configuration and stage have it so") {
  const auto overlap = [](const std::string& zero, const std::string& flags,
                          const std::string& software = "deepspeed-zero3-2021") {
    ImportNames names;
    names.software = software;
    return job_of_files({{"s.sh", kSmallLaunch + "--deepspeed --deepspeed_config d.json " + flags},
                         {"d.json", R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled":
                                    true}, "zero_optimization": {)" +
                                        zero + "}}"}},
                        names);
  };
  const std::string alone = "--no-pipeline-parallel";
  const WordSet<Overlapped> beside{Overlapped::grads};
  const WordSet<Overlapped> behind{Overlapped::no_grads};
  for (const std::string stage : {"1", "2"}) {
    const std::string zero = R"("stage": )" + stage;
    const std::string on = zero + R"(, "overlap_comm": true)";
    CHECK(overlap(on, alone).plan.overlap == beside);
    CHECK_FALSE(overlap(zero + R"(, "overlap_comm": false)", alone).plan.overlap);
    CHECK_FALSE(overlap(zero, alone).plan.overlap);  // nor has that stack it by itself
    CHECK(overlap(zero, alone, "megatron-core-2024").plan.overlap == behind);
    CHECK(overlap(zero + R"(, "overlap_comm": "auto")", alone).plan.overlap == std::nullopt);
  }
  // Parameters that are gathered layer by layer are reduced so unless it is switched off.
  CHECK_FALSE(overlap(R"("stage": 3)", {}).plan.overlap);
  CHECK_FALSE(overlap(R"("stage": 3, "overlap_comm": true)", {}).plan.overlap);
  CHECK(overlap(R"("stage": 3, "overlap_comm": false)", {}).plan.overlap == behind);
  // Without effect.
  const ImportedJob none = overlap(R"("stage": 0, "overlap_comm": true)", alone);
  CHECK_FALSE(none.plan.overlap);
  CHECK(lists_part(none.report.assumed, "overlap_comm true: has no effect at ZeRO stage 0"));
  for (const std::string flags : {"", "--pipeline-model-parallel-size 4 "}) {
    const ImportedJob stages = overlap(R"("stage": 1, "overlap_comm": true)", flags);
    CHECK_FALSE(stages.plan.overlap);
    CHECK(lists_part(stages.report.assumed, "overlap_comm true: has no effect with its pipeline"));
  }
}

TEST_CASE("a size keeps its dot, and NeMo's p is one") {
  const auto layers = [](const std::string& name) {
    return job_of_yaml("model_name_or_path: " + name + "\nper_device_train_batch_size: 1\n")
        .model.layers;
  };
  CHECK(layers("facebook/opt-1.3b") == 24);
  CHECK(layers("facebook/opt-13b") == 40);
  CHECK(layers("qwen25_1p5b") == 28);
  CHECK(layers("llama3_2_1b") == 16);
  CHECK(layers("llama-2-7b.yaml") == 32);
  CHECK_THROWS((void)layers("pythia-14b"));
}

TEST_CASE("words that scripts add are beside the tokenizer's own, not the embedding's rows") {
  const auto vocab = [](const std::string& flags) {
    std::string script = kSmallLaunch;
    script.erase(script.find("--vocab-size 50257 "), 19);
    return job_of_script(script + flags).model.vocab;
  };
  CHECK(vocab("--patch-tokenizer-type Qwen2Tokenizer") == 151936);
  CHECK(vocab("--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 421") == 152064);
  CHECK(vocab("--patch-tokenizer-type LLama3Tokenizer --extra-vocab-size 256") == 128256);
}

TEST_CASE("what a named model has goes under the sizes that are set over it") {
  const ImportedJob job = job_of_yaml(
      "model:\n  name: hf_causal_lm\n  pretrained_model_name_or_path: mistralai/Mistral-7B-v0.3\n"
      "  config_overrides:\n    hidden_size: 2560\n    num_hidden_layers: 28\n"
      "    num_attention_heads: 16\n    intermediate_size: 8960\n");
  CHECK(job.model.layers == 28);
  CHECK(job.model.hidden == 2560);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.vocab == 32768);
}

TEST_CASE("the name of a program or of a folder of weights says the model") {
  const ImportedJob nemo = job_of_script(
      "python -m scripts.performance.llm.pretrain_llama3_8b --num_gpus 32 --gpus_per_node 8 "
      "--tensor_parallel_size 2 --micro_batch_size 1 --global_batch_size 128");
  CHECK(nemo.model.layers == 32);
  CHECK(nemo.plan.tp == 2);
  CHECK(nemo.value("devices") == 32);
  CHECK(nemo.plan.zero == 1);
  const ImportedJob litgpt = job_of_yaml(
      "checkpoint_dir: checkpoints/meta-llama/Llama-2-7b-hf\nprecision: bf16-true\ndevices: 4\n"
      "num_nodes: 1\ntrain:\n  global_batch_size: 64\n  micro_batch_size: 4\n"
      "  max_seq_length: 512\n");
  CHECK(litgpt.model.layers == 32);
  CHECK(litgpt.plan.zero == 3);
  CHECK(litgpt.plan.recompute == Recompute::full);
  CHECK(litgpt.plan.dp == 4);
  CHECK(litgpt.plan.moments_precision == Precision::bf16);
}

TEST_CASE("accelerate's file that is not given says the stage by its name") {
  const ImportedJob job = job_of_script(
      "accelerate launch --config_file configs/deepspeed_zero3.yaml --num_processes 8 sft.py "
      "--model_name_or_path Qwen/Qwen2-0.5B --per_device_train_batch_size 2");
  CHECK(job.plan.zero == 3);
  CHECK(lists_part(job.report.left_out, "configs/deepspeed_zero3.yaml: not among the files"));
}

TEST_CASE("shared experts are counted, or their width said") {
  const std::string experts =
      kSmallLaunch + "--num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 ";
  const auto width = [&](const std::string& flags) {
    return job_of_script(experts + flags).model.experts.shared_hidden;
  };
  CHECK(width("--enable-shared-expert --num-shared-experts 2") == 2816);
  CHECK(width("--enable-shared-expert --shared-moe-ffn-hidden-size 20480") == 20480);
}

TEST_CASE("ms-swift's commands recompute, and train adapters unless told otherwise") {
  const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --max_length 4096 ";
  const ImportedJob job = job_of_script(swift);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.tuning == Tuning::lora);
  const ImportedJob full =
      job_of_script(swift + "--train_type full --gradient_checkpointing false");
  CHECK(full.plan.recompute == Recompute::none);
  CHECK(full.plan.tuning == Tuning::full);
}

TEST_CASE("ms-swift's name of the one that answers is no model's") {
  const ImportedJob job = job_of_script(
      "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full "
      "--per_device_train_batch_size 1 --max_length 8192 --model_author swift "
      "--model_name swift-robot --deepspeed zero3\n");
  CHECK(job.model.layers == 28);
  const ImportedJob megatron = job_of_script(
      "NPROC_PER_NODE=8 NNODES=2 megatron sft --load Qwen3-30B-A3B-Base-mcore --max_length 8192 "
      "--micro_batch_size 1 --global_batch_size 16 --expert_model_parallel_size 8\n");
  CHECK(megatron.model.experts.count == 128);
}

TEST_CASE("DeepSpeed keeps parameters in host memory at stage 3 alone") {
  const std::string chat =
      "deepspeed --num_gpus 8 main.py --model_name_or_path 01-ai/Yi-6B --deepspeed --offload "
      "--per_device_train_batch_size 1 --max_seq_len 4096 --zero_stage ";
  CHECK(job_of_script(chat + "3").plan.offload == Offload::optimizer_params);
  const ImportedJob job = job_of_script(chat + "2");
  CHECK(job.plan.offload == Offload::optimizer);
  CHECK(lists_part(job.report.assumed, "at stage 3 alone, not at 2"));
}

TEST_CASE("AWS's examples of PyTorch's FSDP repeat layers unless told otherwise") {
  const std::string program =
      "torchrun --nproc_per_node=8 --nnodes=2 train.py --max_context_width=4096 "
      "--num_key_value_heads=8 --intermediate_size=28672 --hidden_width=8192 --num_layers=80 "
      "--num_heads=64 --model_type=llama_v2 --train_batch_size=1 --sharding_strategy=full ";
  CHECK(job_of_script(program).plan.recompute == Recompute::full);
  CHECK(job_of_script(program + "--activation_checkpointing=0").plan.recompute == Recompute::none);
}

TEST_CASE("a program may have its model's name beside a configuration that is not there") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node=8 --nnodes=2 examples/llama/pretrain_llama3_8b.py "
      "--config-file conf/override.yaml model.tensor_model_parallel_size=2 "
      "train.global_batch_size=512 train.micro_batch_size=1 dataset.sequence_length=8192\n");
  CHECK(job.model.layers == 32);
  CHECK(job.plan.tp == 2);
  CHECK(lists_part(job.report.left_out, "conf/override.yaml: not among the files"));
}

TEST_CASE("Megatron's files of merges are GPT-2's where no tokenizer is named") {
  const std::string files = "--vocab-file $1 --merge-file $2 ";
  const std::string sizes =
      "x.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 ";
  const ImportedJob job = job_of_script(sizes + files);
  CHECK(lists(job.report.assumed, "vocab_size 50257: that of the GPT-2 tokenizer"));
  CHECK_FALSE(lists_part(job_of_script(sizes + files + "--tokenizer-type Own").report.assumed,
                         "that of the GPT-2 tokenizer"));
}

TEST_CASE("DeepSpeed-Chat makes its configuration, in fp16 by itself") {
  const std::string chat =
      "deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf --deepspeed "
      "--data_split 2,4,4 --per_device_train_batch_size 4 --max_seq_len 512 --zero_stage 3 ";
  const ImportedJob job = job_of_script(chat);
  CHECK(job.plan.precision == Precision::fp16);
  CHECK(job.report.left_out.empty());
  CHECK(job_of_script(chat + "--dtype bf16").plan.precision == Precision::bf16);
}

TEST_CASE("ms-swift trains in the type that it is given, by configurations of its own") {
  const ImportedJob job = job_of_script(
      "NPROC_PER_NODE=4 swift pt --model Qwen/Qwen2.5-7B --train_type full --torch_dtype float16 "
      "--per_device_train_batch_size 1 --deepspeed zero3 --max_length 8192\n");
  CHECK(job.plan.precision == Precision::fp16);
  CHECK(job.plan.zero == 3);
  CHECK(job.report.left_out.empty());
}

TEST_CASE("open_lm's flags and models") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc-per-node 8 --nnodes 4 -m open_lm.main --precision amp_bfloat16 "
      "--batch-size 10 --grad-checkpointing --accum-freq 2 --model open_lm_1b --fsdp\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.gbs == 640);
  CHECK(job.plan.zero == 3);
}

TEST_CASE("other words for recomputation are read, and unknown ones told") {
  CHECK(job_of_script(kSmallLaunch + "--use_gradient_checkpointing True").plan.recompute ==
        Recompute::full);
  CHECK(job_of_script(kSmallLaunch + "--checkpoint-activations-granularity=selective")
            .plan.recompute == Recompute::selective);
  const ImportedJob own = job_of_script(kSmallLaunch + "--my-gradient-checkpointing");
  CHECK(own.plan.recompute == Recompute::full);
  CHECK(lists(own.report.assumed, "recompute full: --my-gradient-checkpointing, by its name"));
}

TEST_CASE("a model that sees is refused by its flags") {
  CHECK(refusal_of_script("deepspeed train_mem.py --model_name_or_path lmsys/vicuna-13b-v1.5 "
                          "--vision_tower openai/clip --bf16 True\n")
            .starts_with("s.sh: --vision-tower openai/clip: asks for a vision-language model"));
}

TEST_CASE("nanoGPT's flags, too, have its defaults") {
  const ImportedJob job = job_of_script(
      "torchrun --standalone --nproc_per_node=8 train.py --batch_size=12 --n_layer=24 --n_head=16 "
      "--n_embd=1024 --block_size=1024 --gradient_accumulation_steps=40\n");
  CHECK(job.model.vocab == 50304);
  CHECK(job.plan.gbs == 480);
  CHECK(lists_part(job.report.assumed, "nanoGPT's, as the flags do not say it"));
}

TEST_CASE("Galvatron's switch recomputes, and its words say how states are sharded") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 train_dist.py --model_size llama-7b --hidden_size 4096 "
      "--num_hidden_layers 32 --num_attention_heads 32 --seq_length 2048 --pp_deg 2 "
      "--global_tp_deg 2 --global_checkpoint 1 --chunks 8 --default_dp_type zero2 "
      "--global_train_batch_size 64 --mixed_precision bf16");
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.zero == 2);
  CHECK(job.plan.mbs == 4);
}

TEST_CASE("a training batch alone is of each device") {
  const ImportedJob job = job_of_script(
      "accelerate launch --num_processes 16 --num_machines 2 train.py --model_ckpt gpt2-large "
      "--train_batch_size 2 --gradient_accumulation_steps 16 --seq_length 1024");
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.gbs == 512);
  CHECK(lists(job.report.assumed, "mbs 2: --train-batch-size, as of each device"));
}

TEST_CASE("XTuner's configurations recompute unless told otherwise") {
  const ImportedJob job = job_of_files(
      {{"c.py",
        "pretrained_model_name_or_path = 'meta-llama/Llama-2-7b-hf'\nmax_length = 2048\n"
        "batch_size = 1\naccumulative_counts = 16\n"
        "model = dict(type=SupervisedFinetune, llm=dict(pretrained_model_name_or_path="
        "pretrained_model_name_or_path))\n"}});
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.value("gradient_accumulation_steps") == 16);
}

TEST_CASE("torchtune trains whatever its configuration is called") {
  const ImportedJob job = job_of_script(
      "srun tune run --nnodes 4 --nproc_per_node 8 full_finetune_distributed --config "
      "llama3_3/70B_full_multinode tensor_parallel_dim=8 batch_size=2");
  CHECK(job.plan.tp == 8);
  CHECK(job.plan.zero == 3);
  CHECK(job.model.layers == 80);
}

TEST_CASE("flags that Megatron-LM's tests list under MODEL_ARGS are read as its arguments") {
  const ImportedJob job = job_of_yaml(
      "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --num-layers: 12\n"
      "  --hidden-size: 512\n  --num-attention-heads: 8\n  --micro-batch-size: 4\n"
      "  --seq-length: 1024\n  --bf16: true\n  --fp16: false\n"
      "  --transformer-impl: transformer_engine\n  --attention-dropout: 0.0\n"
      "  --cross-entropy-loss-fusion: true\n  --recompute-granularity: selective\n"
      "  --recompute-modules: [layernorm, unheard_of]\nTEST_TYPE: ckpt-resume\n");
  CHECK(job.model.layers == 12);
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.model.dropout == true);
  CHECK(job.model.score_dropout == false);
  CHECK(job.plan.loss == LossForm::compiled);
  CHECK(job.plan.recompute_modules == WordSet<RecomputeModule>{RecomputeModule::layernorm});
  CHECK(lists_part(job.report.left_out, "--recompute-modules unheard_of is not known"));
}

}  // namespace
}  // namespace prequel
