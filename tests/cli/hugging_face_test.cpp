#include "cli/import/configs/json_configs.hpp"

#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob job_of_config(const std::string& config) {
  const TemporaryFolder folder;
  return import_files({folder.with("config.json", config)}).job;
}

/// Parameters of the tensors that Transformers makes of a config, counted by hand from its classes:
/// weights of projections, norms, embeddings and experts.
TEST_CASE("configs give the parameters of their checkpoints") {
  const struct {
    const char* config;
    double millions, active;
  } known[] = {
      // mistralai/Mixtral-8x7B-v0.1: 46,702,792,704
      {R"({"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
           "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
           "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
           "max_position_embeddings": 32768, "sliding_window": null})",
       46702.792704, 12879.925248},
      // Qwen/Qwen3-30B-A3B: 30,532,122,624
      {R"({"model_type": "qwen3_moe", "num_hidden_layers": 48, "hidden_size": 2048, "head_dim": 128,
           "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 6144,
           "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
           "decoder_sparse_step": 1, "vocab_size": 151936, "max_position_embeddings": 40960,
           "use_sliding_window": false, "sliding_window": null, "tie_word_embeddings": false})",
       30532.122624, 3345.0},
      // deepseek-ai/DeepSeek-V2-Lite: 15,706,484,224
      {R"({"model_type": "deepseek_v2", "num_hidden_layers": 27, "hidden_size": 2048,
           "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 10944,
           "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
           "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1,
           "n_group": 1, "topk_group": 1, "q_lora_rank": null, "kv_lora_rank": 512,
           "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
           "vocab_size": 102400, "max_position_embeddings": 163840})",
       15706.484224, 0},
      // Qwen/Qwen2.5-7B: 7,615,616,512, with biases of queries, keys and values
      {R"({"model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584,
           "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
           "vocab_size": 152064, "max_position_embeddings": 131072, "sliding_window": 131072,
           "use_sliding_window": false, "tie_word_embeddings": false})",
       7615.616512, 0},
      // google/gemma-2-9b: 9,241,705,984
      {R"({"model_type": "gemma2", "num_hidden_layers": 42, "hidden_size": 3584, "head_dim": 256,
           "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 14336,
           "vocab_size": 256000, "max_position_embeddings": 8192, "sliding_window": 4096,
           "attn_logit_softcapping": 50.0})",
       9241.705984, 0},
      // google/gemma-3-12b-pt, its text: 11,766,034,176
      {R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
           "num_hidden_layers": 48, "hidden_size": 3840, "num_attention_heads": 16,
           "num_key_value_heads": 8, "intermediate_size": 15360, "sliding_window": 1024},
           "vision_config": {"hidden_size": 1152}})",
       11766.034176, 0},
      // microsoft/phi-2: 2,779,683,840
      {R"({"model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560,
           "num_attention_heads": 32, "intermediate_size": 10240, "vocab_size": 51200,
           "max_position_embeddings": 2048, "tie_word_embeddings": false})",
       2779.68384, 0},
      // bigcode/starcoder2-7b: 7,173,923,840
      {R"({"model_type": "starcoder2", "num_hidden_layers": 32, "hidden_size": 4608,
           "num_attention_heads": 36, "num_key_value_heads": 4, "intermediate_size": 18432,
           "vocab_size": 49152, "max_position_embeddings": 16384, "sliding_window": 4096,
           "use_bias": true})",
       7173.92384, 0},
      // bigcode/starcoder: 15,517,456,384
      {R"({"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48,
           "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true,
           "max_sequence_length": null})",
       15517.456384, 0},
      // THUDM/chatglm3-6b: 6,243,584,000
      {R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "kv_channels": 128,
           "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2,
           "ffn_hidden_size": 13696, "padded_vocab_size": 65024, "seq_length": 8192,
           "add_qkv_bias": true, "add_bias_linear": false, "tie_word_embeddings": false})",
       6243.584, 0},
      // internlm/internlm2-7b: 7,737,708,544
      {R"({"model_type": "internlm2", "num_hidden_layers": 32, "hidden_size": 4096,
           "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
           "vocab_size": 92544, "max_position_embeddings": 32768, "bias": false,
           "tie_word_embeddings": false})",
       7737.708544, 0},
      // openai/gpt-oss-20b: 20,914,757,184 with the sinks of its attention
      {R"({"model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880, "head_dim": 64,
           "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 2880,
           "num_local_experts": 32, "num_experts_per_tok": 4, "attention_bias": true,
           "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128,
           "layer_types": ["sliding_attention", "full_attention"],
           "tie_word_embeddings": false})",
       20914.757184, 0},
      // ibm-granite/granite-4.0-h-small: 32,207,337,984
      {R"({"model_type": "granitemoehybrid", "num_hidden_layers": 40, "hidden_size": 4096,
           "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 768,
           "shared_intermediate_size": 1536, "num_local_experts": 72, "num_experts_per_tok": 10,
           "vocab_size": 100352, "max_position_embeddings": 131072, "mamba_n_heads": 128,
           "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4,
           "mamba_expand": 2, "mamba_chunk_size": 256, "tie_word_embeddings": true,
           "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba",
                           "mamba", "mamba", "mamba"]})",
       32207.337984, 8803.1},
      // Qwen/Qwen3.5-35B-A3B: 35,951,822,704 with a depth of multi-token prediction (844,640,768)
      {R"({"model_type": "qwen3_5_moe", "text_config": {"model_type": "qwen3_5_moe_text",
           "num_hidden_layers": 40, "hidden_size": 2048, "num_attention_heads": 16,
           "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 248320, "num_experts": 256,
           "num_experts_per_tok": 8, "moe_intermediate_size": 512,
           "shared_expert_intermediate_size": 512, "attn_output_gate": true,
           "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
           "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
           "layer_types": ["linear_attention", "linear_attention", "linear_attention",
                           "full_attention"],
           "max_position_embeddings": 262144, "mtp_num_hidden_layers": 1},
           "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304,
           "num_heads": 16, "patch_size": 16, "temporal_patch_size": 2, "spatial_merge_size": 2,
           "out_hidden_size": 2048, "num_position_embeddings": 2304},
           "tie_word_embeddings": false})",
       35951.822704 - 844.640768, 3454.988928},
      // baidu/ERNIE-4.5-21B-A3B: 21.8 billion, 3 of them active
      {R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 28, "hidden_size": 2560,
           "num_attention_heads": 20, "num_key_value_heads": 4, "intermediate_size": 12288,
           "vocab_size": 103424, "max_position_embeddings": 131072, "moe_num_experts": 64,
           "moe_k": 6, "moe_intermediate_size": 1536, "moe_num_shared_experts": 2,
           "moe_layer_start_index": 1, "moe_layer_interval": 1, "tie_word_embeddings": true})",
       21825.5, 0},
      // tencent/Hunyuan-A13B: 80.4 billion, lists of one value a layer
      {R"({"model_type": "hunyuan_v1_moe", "num_hidden_layers": 32, "hidden_size": 4096,
           "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
           "intermediate_size": 3072, "moe_intermediate_size": [3072, 3072], "num_experts": 64,
           "moe_topk": [8, 8], "num_shared_expert": [1, 1], "vocab_size": 128167,
           "max_position_embeddings": 32768, "use_qk_norm": true, "tie_word_embeddings": true})",
       80393.0, 0},
      // LiquidAI/LFM2-1.2B: 1,170,340,608
      {R"({"model_type": "lfm2", "num_hidden_layers": 16, "hidden_size": 2048,
           "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536,
           "block_auto_adjust_ff_dim": true, "block_ff_dim": 12288, "block_multiple_of": 256,
           "block_ffn_dim_multiplier": 1.0, "conv_L_cache": 3, "conv_bias": false,
           "full_attn_idxs": [2, 5, 8, 10, 12, 14], "max_position_embeddings": 128000})",
       1170.340608, 0},
      // LiquidAI/LFM2-8B-A1B: 8,339,930,560
      {R"({"model_type": "lfm2_moe", "num_hidden_layers": 24, "hidden_size": 2048,
           "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536,
           "intermediate_size": 7168, "moe_intermediate_size": 1792, "num_dense_layers": 2,
           "num_experts": 32, "num_experts_per_tok": 4, "use_expert_bias": true,
           "conv_L_cache": 3, "max_position_embeddings": 128000, "layer_types": ["conv", "conv",
           "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
           "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
           "full_attention", "conv", "conv", "full_attention", "conv", "conv"]})",
       8339.93056, 0},
      // inclusionAI/Ling-mini-2.0: 16,255,643,392
      {R"({"model_type": "bailing_moe_v2", "num_hidden_layers": 20, "hidden_size": 2048,
           "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128,
           "intermediate_size": 5120, "moe_intermediate_size": 512, "num_experts": 256,
           "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1,
           "n_group": 8, "topk_group": 4, "use_qk_norm": true, "use_qkv_bias": false,
           "vocab_size": 157184, "max_position_embeddings": 32768, "tie_word_embeddings": false})",
       16255.643392, 0},
      // arcee-ai/Trinity-Mini: 26,123,974,400
      {R"({"model_type": "afmoe", "num_hidden_layers": 32, "hidden_size": 2048,
           "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
           "intermediate_size": 6144, "moe_intermediate_size": 1024, "num_experts": 128,
           "num_experts_per_tok": 8, "num_shared_experts": 1, "num_dense_layers": 2,
           "sliding_window": 2048, "layer_types": ["sliding_attention", "sliding_attention",
           "sliding_attention", "full_attention"], "vocab_size": 200192,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       26123.9744, 0},
      // rednote-hilab/dots.llm1: 142,774,373,888
      {R"({"model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096,
           "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
           "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128,
           "num_experts_per_tok": 6, "n_shared_experts": 2, "first_k_dense_replace": 1,
           "vocab_size": 152064, "max_position_embeddings": 32768, "tie_word_embeddings": false})",
       142774.373888, 0},
      // arcee-ai/AFM-4.5B: 4,619,184,640
      {R"({"model_type": "arcee", "num_hidden_layers": 36, "hidden_size": 2560,
           "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
           "intermediate_size": 18432, "hidden_act": "relu2", "vocab_size": 128004,
           "max_position_embeddings": 65536, "tie_word_embeddings": false})",
       4619.18464, 0},
      // LGAI-EXAONE/EXAONE-4.0-32B: 32,003,216,384
      {R"({"model_type": "exaone4", "num_hidden_layers": 64, "hidden_size": 5120,
           "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
           "intermediate_size": 27392, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
           "vocab_size": 102400, "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       32003.216384, 0},
      // A small one found by a search: attention and MLP, MLP alone, attention alone, neither
      {R"({"model_type": "nemotron-nas", "num_hidden_layers": 4, "hidden_size": 1024,
           "num_attention_heads": 8, "num_key_value_heads": null, "intermediate_size": null,
           "vocab_size": 1000, "max_position_embeddings": 4096, "tie_word_embeddings": false,
           "block_configs": [
             {"attention": {"n_heads_in_group": 4, "no_op": false}, "ffn": {"ffn_mult": 3.0}},
             {"attention": {"n_heads_in_group": null, "no_op": true}, "ffn": {"ffn_mult": 1.5}},
             {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": null, "no_op": true}},
             {"attention": {"no_op": true}, "ffn": {"no_op": true}}]})",
       16.733184, 0},
      // skt/A.X-K1: 519 billion, 33 of them active
      {R"({"model_type": "AXK1", "num_hidden_layers": 61, "hidden_size": 7168,
           "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 18432,
           "moe_intermediate_size": 2048, "n_routed_experts": 192, "n_shared_experts": 1,
           "num_experts_per_tok": 8, "first_k_dense_replace": 1, "moe_layer_freq": 1,
           "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       518982.622208, 32780},
      // inceptionai/Jais-2-8B-Chat: 8,090,401,280 with two products an MLP, and biases
      {R"({"model_type": "jais2", "hidden_act": "relu2", "num_hidden_layers": 32,
           "hidden_size": 3328, "num_attention_heads": 26, "num_key_value_heads": 26,
           "head_dim": 128, "intermediate_size": 26624, "vocab_size": 150272,
           "attention_bias": true, "mlp_bias": true, "max_position_embeddings": 8192,
           "tie_word_embeddings": false})",
       8090.40128, 0},
      // IntervitensInc/pangu-pro-moe-model: 72 billion, 16 of them active
      {R"({"model_type": "PanguProMoE", "num_hidden_layers": 48, "hidden_size": 5120,
           "num_attention_heads": 40, "num_key_value_heads": 8, "num_experts": 64,
           "num_experts_per_tok": 8, "moe_intermediate_size": 1344,
           "shared_expert_intermediate_size": 5376, "vocab_size": 153600,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       71990.8, 16500},
      // PowerInfer/SmallThinker-21BA3B-Instruct: 21.5 billion
      {R"({"model_type": "smallthinker", "num_hidden_layers": 52, "hidden_size": 2560,
           "num_attention_heads": 28, "num_key_value_heads": 4, "head_dim": 128,
           "moe_num_primary_experts": 64, "moe_num_active_primary_experts": 6,
           "moe_ffn_hidden_size": 768, "sliding_window_layout": [0, 1, 1, 1],
           "sliding_window_size": 4096, "vocab_size": 151936,
           "max_position_embeddings": 16384, "tie_word_embeddings": false})",
       21506.56, 0},
      // deepseek-ai/deepseek-moe-16b-base: 16,375,728,128
      {R"({"model_type": "deepseek", "num_hidden_layers": 28, "hidden_size": 2048,
           "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 10944,
           "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
           "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1,
           "vocab_size": 102400, "max_position_embeddings": 4096, "tie_word_embeddings": false})",
       16375.728128, 0},
      // naver-hyperclovax/HyperCLOVAX-SEED-Think-14B: 14.75 billion
      {R"({"model_type": "hyperclovax", "num_hidden_layers": 38, "hidden_size": 6144,
           "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
           "intermediate_size": 14336, "use_post_norm": true, "vocab_size": 110592,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       14748.11, 0},
      // google/vaultgemma-1b: 1,038,741,120
      {R"({"model_type": "vaultgemma", "num_hidden_layers": 26, "hidden_size": 1152,
           "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 256,
           "intermediate_size": 6912, "vocab_size": 256000, "max_position_embeddings": 1024,
           "tie_word_embeddings": true})",
       1038.74112, 0},
      // karpathy/nanochat-d20: 561 million
      {R"({"model_type": "nanochat", "hidden_act": "relu2", "num_hidden_layers": 20,
           "hidden_size": 1280, "num_attention_heads": 10, "num_key_value_heads": 10,
           "intermediate_size": 5120, "vocab_size": 65536, "max_position_embeddings": 2048,
           "tie_word_embeddings": false})",
       561.0, 0},
      // MiniMaxAI/MiniMax-M3, its text: 426,174,572,928
      {R"({"model_type": "minimax_m3", "num_hidden_layers": 60, "hidden_size": 6144,
           "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
           "intermediate_size": 3072, "dense_intermediate_size": 12288, "vocab_size": 200064,
           "num_local_experts": 128, "num_experts_per_tok": 4, "n_shared_experts": 1,
           "first_k_dense_replace": 3, "max_position_embeddings": 1048576,
           "tie_word_embeddings": false, "sparse_attention_config": {"sparse_num_index_heads": 4,
           "sparse_index_dim": 128, "sparse_block_size": 128, "sparse_topk_blocks": 16}})",
       426174.572928, 25962.473856},
  };
  for (const auto& one : known) {
    CAPTURE(std::string(one.config).substr(0, 40));
    const ImportedJob job = job_of_config(one.config);
    REQUIRE(job.report.parameters);
    CHECK(static_cast<double>(*job.report.parameters) / 1e6 ==
          doctest::Approx(one.millions).epsilon(1e-4));
    if (one.active > 0) {
      CHECK(static_cast<double>(*job.report.active_parameters) / 1e6 ==
            doctest::Approx(one.active).epsilon(0.01));
    }
  }
}

TEST_CASE("which layers have windows the config says, or the family") {
  const auto with = [](const std::string& more) {
    return job_of_config(R"({"num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 8,
                      "vocab_size": 32000, "max_position_embeddings": 32768, )" +
                         more + "}")
        .model;
  };
  CHECK(with(R"("model_type": "mistral", "sliding_window": 4096)").window == 4096);
  CHECK_FALSE(with(R"("model_type": "mistral", "sliding_window": null)").window);
  CHECK_FALSE(with(R"("model_type": "qwen2", "sliding_window": 4096)").window);
  CHECK(with(R"("model_type": "gemma2")").full_every == 2);
  CHECK(with(R"("model_type": "gemma3_text", "sliding_window": 1024)").full_every == 6);
  const auto typed = with(R"("model_type": "llama", "sliding_window": 512, "layer_types":
                             ["sliding_attention", "sliding_attention", "full_attention"])");
  CHECK(typed.window == 512);
  CHECK(typed.full_every == 3);
  CHECK(with(R"("model_type": "cohere2", "sliding_window": 4096, "sliding_window_pattern": 4)")
            .full_every == 4);
  CHECK(with(R"("model_type": "phi3", "sliding_window": 2047)").window == 2047);
  CHECK_FALSE(with(R"("model_type": "phi3", "sliding_window": 262144)").window);
}

TEST_CASE("Llama 4 attends in chunks where it has rotary positions") {
  const auto with = [](const std::string& more) {
    return job_of_config(
        R"({"model_type": "llama4_text", "num_hidden_layers": 8, "hidden_size": 1024,
                      "num_attention_heads": 8, "vocab_size": 32000, "intermediate_size": 2048,
                      "max_position_embeddings": 262144, "num_local_experts": 4,
                      "num_experts_per_tok": 1)" +
        more + "}");
  };
  const ImportedJob job = with(R"(, "attention_chunk_size": 8192, "no_rope_layers": [])");
  CHECK(job.model.chunk == 8192);
  CHECK(job.model.full_every == 4);
  CHECK_FALSE(job.model.window);
  const Transformer model = read_transformer(Document::parse("m", model_json(job.model, "m")));
  CHECK(model.kind_of(2).span == AttentionSpan::chunk);
  CHECK(model.kind_of(3).span == AttentionSpan::full);
  CHECK(with(R"(, "attention_chunk_size": 8192, "no_rope_layer_interval": 2)").model.full_every ==
        2);
  CHECK_FALSE(with(R"(, "attention_chunk_size": null)").model.chunk);
  CHECK_FALSE(with(R"(, "attention_chunk_size": null)").model.full_every);
  const ImportedJob typed = with(R"(, "attention_chunk_size": 8192, "layer_types":
      ["chunked_attention", "chunked_attention", "full_attention", "chunked_attention",
       "chunked_attention", "full_attention", "chunked_attention", "full_attention"])");
  CHECK(typed.model.full_every == 2);
  CHECK(typed.report.assumed.front().find("full attention in 4 of 8 layers, though layer_types "
                                          "have it in 3") != std::string::npos);
}

TEST_CASE("an unknown family is offered as the one whose keys it has, and only then") {
  const auto refusal = [](const std::string& more) {
    return error_text([&] {
      (void)job_of_config(R"({"model_type": "newest", "num_hidden_layers": 36,
          "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 12288,
          "vocab_size": 151936)" +
                          more + "}");
    });
  };
  const auto offers = [&](const std::string& more, const std::string& family) {
    return refusal(more).find("its keys are those of " + family + ": with model_type \"" + family +
                              "\" it is read as one") != std::string::npos;
  };
  CHECK(offers(R"(, "num_key_value_heads": 8, "hidden_act": "silu")", "llama"));
  const std::string experts =
      R"(, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768)";
  CHECK(offers(experts, "glm4_moe"));
  CHECK(offers(experts + R"(, "kv_lora_rank": 512, "q_lora_rank": 1536)", "deepseek_v3"));
  for (const char* other :
       {R"(, "hidden_act": "relu2")", R"(, "mamba_d_state": 128)", R"(, "total_ut_steps": 4)",
        R"(, "num_experts": 8)", R"(, "linear_num_key_heads": 16)"}) {
    CAPTURE(other);
    CHECK(refusal(other).find("a file of prequel/model/1 can state its layers") !=
          std::string::npos);
  }
}

TEST_CASE("towers for sound and images are told of, wherever they stand") {
  const std::string text = R"("text_config": {"model_type": "llama", "num_hidden_layers": 4,
      "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000})";
  const auto left_out = [&](const std::string& config) {
    return job_of_config(config).report.left_out;
  };
  const std::string tower = R"("audio_config": {"hidden_size": 64})";
  CHECK(left_out(R"({"model_type": "voxtral", )" + text + ", " + tower + "}") ==
        std::vector<std::string>{"audio_config: the language model alone is predicted"});
  CHECK(left_out(R"({"model_type": "omni", "thinker_config": {)" + text + ", " + tower +
                 R"(, "vision_config": {"depth": 2}}})")
            .size() == 2);
}

TEST_CASE("families that are no decoders of attention and MLPs are refused by name") {
  for (const char* type : {"zamba2", "rwkv", "t5", "longcat_flash_ngram", "ouro", "zaya"}) {
    const std::string text = error_text([&] {
      (void)job_of_config(std::string(R"({"model_type": ")") + type + R"(", "hidden_size": 8})");
    });
    CHECK(text.find("prequel models decoders of attention and MLPs") != std::string::npos);
  }
  CHECK_NOTHROW((void)job_of_config(R"({"model_type": "llama", "hidden_size": 4096,
                                 "rope_scaling": {"limit": [0.0, Infinity]}})"));
}

TEST_CASE("a value of the wrong kind is refused, in what sets a family apart, too") {
  const auto refusal = [](const std::string& family, const std::string& more) {
    const std::string sizes = R"("n_layer": 4, "n_head": 8, "n_embd": 512, "d_model": 512,
                                 "n_layers": 4, "n_heads": 8, "num_layers": 4, "hidden_size": 512,
                                 "num_attention_heads": 8, "vocab_size": 1000, )";
    return error_text([&] {
      static_cast<void>(
          job_of_config(R"({"model_type": ")" + family + "\", " + sizes + more + "}"));
    });
  };
  CHECK(refusal("falcon", R"("multi_query": "yes")").find("/multi_query: expected true or false") !=
        std::string::npos);
  CHECK(refusal("falcon", R"("bias": "some")").find("/bias: ") != std::string::npos);
  CHECK(refusal("mpt", R"("expansion_ratio": 2.5)").find("/expansion_ratio: expected a whole") !=
        std::string::npos);
  CHECK(refusal("dbrx", R"("attn_config": {"kv_n_heads": "two"})")
            .find("/attn_config/kv_n_heads: ") != std::string::npos);
  CHECK(refusal("chatglm", R"("multi_query_attention": 1)").find("/multi_query_attention: ") !=
        std::string::npos);
}

TEST_CASE("layers that share keys and values are refused, and lists of words are read") {
  const std::string hunyuan = R"({"model_type": "hunyuan", "num_hidden_layers": 4,
      "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000,
      "max_position_embeddings": 2048, "use_cla": )";
  CHECK(error_text([&] {
          (void)job_of_config(hunyuan + "true}");
        }).find("/use_cla: asks for keys and values that layers share") != std::string::npos);
  CHECK_NOTHROW((void)job_of_config(hunyuan + "false}"));
  const ImportedJob job = job_of_config(
      R"({"model_type": "glm4_moe", "num_hidden_layers": 4, "hidden_size": 512,
          "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000,
          "moe_intermediate_size": 256, "n_routed_experts": 8, "num_experts_per_tok": 2,
          "max_position_embeddings": 2048, "mlp_layer_types": ["dense", "dense", "sparse",
          "sparse"]})");
  CHECK(job.model.experts.first_dense == 2);
}

TEST_CASE("embeddings narrower than the model (OPT-350m) are refused by name") {
  const std::string config = R"({"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 1024,
      "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272,
      "max_position_embeddings": 2048, "word_embed_proj_dim": )";
  CHECK(error_text([&] {
          (void)job_of_config(config + "512}");
        }).find("/word_embed_proj_dim: 512, but hidden_size is 1024; ") != std::string::npos);
  CHECK_NOTHROW((void)job_of_config(config + "1024}"));
}

TEST_CASE("soft-caps of Gemma 2 are the model's") {
  const ImportedJob job = job_of_config(
      R"({"model_type": "gemma2", "num_hidden_layers": 2, "hidden_size": 256, "head_dim": 64,
          "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512,
          "vocab_size": 1000, "max_position_embeddings": 512, "sliding_window": 256,
          "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})");
  CHECK(job.model.score_cap == 50.0);
  CHECK(job.model.logit_cap == 30.0);
  const Transformer model = read_transformer(Document::parse("m", model_json(job.model, "m")));
  CHECK(model.score_cap);
  CHECK(model.logit_cap);
}

TEST_CASE("Megatron's flags for experts and latent attention are read") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 --nnodes 32 pretrain_gpt.py --num-layers 61 --hidden-size 7168 "
      "--num-attention-heads 128 --ffn-hidden-size 18432 --swiglu --normalization RMSNorm "
      "--disable-bias-linear --untie-embeddings-and-output-weights --use-mcore-models "
      "--position-embedding-type rope --seq-length 4096 --max-position-embeddings 4096 "
      "--padded-vocab-size 129280 --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 "
      "--qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm --num-experts "
      "256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 "
      "--moe-shared-expert-intermediate-size 2048 --moe-layer-freq '([0]*3+[1]*58)' "
      "--moe-router-num-groups 8 --moe-router-group-topk 4 --expert-model-parallel-size 8 "
      "--micro-batch-size 1 --global-batch-size 2048 --bf16\n");
  CHECK(job.plan.ep == 8);
  CHECK(job.model.experts.first_dense == 3);
  CHECK(static_cast<double>(*job.report.parameters) / 671.026e9 ==
        doctest::Approx(1).epsilon(1e-4));
  CHECK(static_cast<double>(*job.report.active_parameters) / 37.5e9 ==
        doctest::Approx(1).epsilon(0.02));
}

}  // namespace
}  // namespace prequel
