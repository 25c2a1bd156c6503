#include "cli/import/configs/hugging_face_families.hpp"

namespace prequel {
namespace {

using enum Mlp;
using enum PositionEmbedding;
using enum Norm;

constexpr Family kFamilies[] = {
    {"gpt2", gelu, learned, layer_norm, kBiases | kTied},
    {"gpt_bigcode", gelu, learned, layer_norm, kBiases | kTied},
    {"gpt_neo", gelu, learned, layer_norm, kBiases | kNoQkvBias | kTied, {}, 256, 2},
    {"gptj", gelu, rope, layer_norm, kBiases | kNoQkvBias | kParallel},
    {"gpt_neox", gelu, rope, layer_norm, kBiases | kParallel},
    {"bloom", gelu, alibi, layer_norm, kBiases | kTied | kEmbeddingNorm},
    {"opt", relu, learned, layer_norm, kBiases | kTied},
    {"mpt", gelu, alibi, layer_norm, kTied},
    {"falcon", gelu, rope, layer_norm, kTied | kParallel},
    {"phi", gelu, rope, layer_norm, kBiases | kParallel},
    {"phi3", swiglu, rope, rms_norm, 0},
    {"llama", swiglu, rope, rms_norm, 0, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
    {"mistral", swiglu, rope, rms_norm, 0, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
    {"mixtral", swiglu, rope, rms_norm, 0},
    {"qwen", swiglu, rope, rms_norm, kQkvBias},
    {"qwen2", swiglu, rope, rms_norm, kQkvBias},
    {"qwen2_moe", swiglu, rope, rms_norm, kQkvBias | kSharedGate},
    {"qwen3", swiglu, rope, rms_norm, kQkNorm},
    {"qwen3_moe", swiglu, rope, rms_norm, kQkNorm},
    {"mimo", swiglu, rope, rms_norm, kQkvBias},
    {"gemma", geglu, rope, rms_norm, kTied, {0, 0, 0, 0, 256, 0, 256000, 8192}},
    {"gemma2",
     geglu,
     rope,
     rms_norm,
     kTied | kPostNorms,
     {0, 0, 8, 4, 256, 0, 256000, 8192},
     4096,
     2},
    {"gemma3_text",
     geglu,
     rope,
     rms_norm,
     kTied | kPostNorms | kQkNorm,
     {26, 2304, 8, 4, 256, 9216, 262208, 131072},
     4096,
     6},
    // Cohere's layer norms have weights and no biases.
    {"cohere", swiglu, rope, rms_norm, kTied | kParallel},
    {"cohere2", swiglu, rope, rms_norm, kTied | kParallel, {}, 4096, 4},
    {"internlm", swiglu, rope, rms_norm, 0},
    {"internlm2", swiglu, rope, rms_norm, 0},
    {"internlm3", swiglu, rope, rms_norm, 0},
    {"baichuan", swiglu, rope, rms_norm, 0},
    {"chatglm", swiglu, rope, rms_norm, kQkvBias},
    {"glm", swiglu, rope, rms_norm, kQkvBias, {0, 0, 0, 0, 128, 0, 0, 0}},
    {"glm4", swiglu, rope, rms_norm, kPostNorms, {0, 0, 0, 0, 128, 0, 0, 0}},
    {"glm4_moe", swiglu, rope, rms_norm, 0},
    {"stablelm", swiglu, rope, layer_norm, 0},
    {"granite", swiglu, rope, rms_norm, 0},
    {"granitemoe", swiglu, rope, rms_norm, 0},
    {"olmo", swiglu, rope, rms_norm, 0},  // its norms have no weights
    {"olmo2", swiglu, rope, rms_norm, kQkNorm},
    {"olmo3", swiglu, rope, rms_norm, kQkNorm, {}, 4096, 4},
    {"olmoe", swiglu, rope, rms_norm, kQkNorm},
    {"starcoder2", gelu, rope, layer_norm, kBiases | kTied},
    {"exaone", swiglu, rope, rms_norm, 0},
    {"exaone4", swiglu, rope, rms_norm, kQkNorm},
    {"minicpm", swiglu, rope, rms_norm, kTied},
    {"minicpm3", swiglu, rope, rms_norm, kTied},
    {"minimax_m2", swiglu, rope, rms_norm, kQkNorm},
    {"nemotron", squared_relu, rope, layer_norm, 0},
    {"xverse", swiglu, rope, rms_norm, 0},
    {"deepseek_v2", swiglu, rope, rms_norm, 0},
    {"deepseek_v3", swiglu, rope, rms_norm, 0},
    {"dbrx", swiglu, rope, rms_norm, 0},  // layer norms without biases
    {"gpt_oss", swiglu, rope, rms_norm, kBiases | kSinks, {}, 128, 2},
    {"llama4_text", swiglu, rope, rms_norm, 0, {}, 0, 4},
    {"seed_oss", swiglu, rope, rms_norm, kQkvBias},
    {"apertus", gelu, rope, rms_norm, kQkNorm},  // xIELU, which has no gate either
    {"ernie4_5", swiglu, rope, rms_norm, kTied},
    {"ernie4_5_moe", swiglu, rope, rms_norm, kTied},
    {"hunyuan_v1_dense", swiglu, rope, rms_norm, kQkNorm},
    {"hunyuan_v1_moe", swiglu, rope, rms_norm, kQkNorm},
    {"nemotron_h", squared_relu, none, rms_norm, 0},
    {"qwen3_next", swiglu, rope, rms_norm, kQkNorm | kSharedGate},
    {"qwen3_5", swiglu, rope, rms_norm, kQkNorm},
    {"qwen3_5_moe", swiglu, rope, rms_norm, kQkNorm | kSharedGate},
    {"deepseek_v32", swiglu, rope, rms_norm, 0},
    {"glm_moe_dsa", swiglu, rope, rms_norm, 0},
    {"deepseek_v4", swiglu, rope, rms_norm, 0},
    {"kimi_linear", swiglu, none, rms_norm, 0},
    {"granitemoehybrid", swiglu, none, rms_norm, kTied},
    {"bamba", swiglu, rope, rms_norm, 0},
    {"falcon_h1", swiglu, rope, rms_norm, 0},
    {"jamba", swiglu, none, rms_norm, 0},
    {"minimax_text_01", swiglu, rope, rms_norm, 0},
    {"gemma4", geglu, rope, rms_norm, kTied | kPostNorms | kQkNorm},
    {"mimo_v2_flash", swiglu, rope, rms_norm, kSinks},
    {"mamba2", squared_relu, none, rms_norm, kTied},
};

constexpr FamilyAlias kAliases[] = {
    {"qwen3_5_text", "qwen3_5"},
    {"qwen3_5_moe_text", "qwen3_5_moe"},
    {"gemma4_text", "gemma4"},
    {"kimi_k3", "kimi_linear"},
    {"kimi_k25", "deepseek_v3"},
    {"minimax_m1", "minimax_text_01"},
    {"minimax", "minimax_text_01"},
    {"olmo3_text", "olmo3"},
    {"RefinedWeb", "falcon"},
    {"RefinedWebModel", "falcon"},
    {"gemma3", "gemma3_text"},
    {"qwen2_vl", "qwen2"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen3_vl", "qwen3"},
    {"qwen3_vl_text", "qwen3"},
    {"qwen3_vl_moe", "qwen3_moe"},
    {"qwen3_vl_moe_text", "qwen3_moe"},
    {"kimi_k2", "deepseek_v3"},
    {"kimi_vl", "deepseek_v3"},
    {"deepseek_vl_v2", "deepseek_v2"},
    {"llama4", "llama4_text"},
    {"llava", "llama"},
    {"llava_llama", "llama"},
    {"llava_next", "llama"},
    {"ministral", "mistral"},
    {"mistral3", "mistral"},
    {"glm4v_text", "glm4"},
    {"smollm3", "llama"},
    {"aquila", "llama"},
    {"yi", "llama"},
    {"Yi", "llama"},
    {"mimo_v2", "mimo"},
};

constexpr RefusedFamily kRefused[] = {
    {"zamba", "state-space layers between those of attention"},
    {"zamba2", "state-space layers between those of attention"},
    {"mamba", "state-space layers"},
    {"falcon_mamba", "state-space layers"},
    {"rwkv", "recurrent layers"},
    {"recurrent_gemma", "recurrent layers"},
    {"minimax_m3", "attention to blocks of keys that an index branch chooses"},
    {"minimax_m3_text", "attention to blocks of keys that an index branch chooses"},
    {"longcat_flash", "two attentions and two MLPs a layer beside experts"},
    {"lfm2", "convolutions between layers of attention"},
    {"t5", "an encoder and a decoder"},
    {"mt5", "an encoder and a decoder"},
    {"bart", "an encoder and a decoder"},
    {"whisper", "an encoder and a decoder"},
    {"bert", "an encoder"},
    {"roberta", "an encoder"},
    {"modernbert", "an encoder"},
    {"mllama", "layers that attend to an image"},
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}
std::span<const FamilyAlias> family_aliases() {
  return kAliases;
}
std::span<const RefusedFamily> refused_families() {
  return kRefused;
}

}  // namespace prequel
