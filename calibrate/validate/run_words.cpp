#include "calibrate/validate/run_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"
#include "models/axes/adapter_targets.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/axis_words.hpp"

namespace prequel {
namespace {

using CellTexts = std::map<std::string, std::string>;

std::string text_of(const CellTexts& cells, const std::string& column) {
  const auto found = cells.find(column);
  return found == cells.end() ? std::string() : lower_case(found->second);
}

/// The second of the pair whose first the text begins with; the text itself where there is none.
using Beginnings = std::vector<std::pair<std::string_view, std::string_view>>;
void translate(CellTexts& cells, const std::string& column, const Beginnings& words) {
  const std::string text = text_of(cells, column);
  if (text.empty()) return;
  const auto found =
      std::ranges::find_if(words, [&](const auto& word) { return text.starts_with(word.first); });
  if (found == words.end()) return;
  if (found->second.empty()) {
    cells.erase(column);
  } else {
    cells[column] = found->second;
  }
}

/// Words of such cells that name no module: how much, by which method, whose graphs.
constexpr std::array<std::string_view, 10> kNoModules{
    "no",  "none",  "full",  "uniform",   "block",
    "all", "local", "mamba", "selective", "transformer_engine"};

bool is_number(const std::string& word) {
  return std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The words of the text as a list, some by another name, but for those that name no module. One
/// that the enumeration does not know stays, for whoever reads the axis to refuse it.
std::string module_words(std::string text,
                         const std::map<std::string, std::string, std::less<>>& others = {}) {
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  std::string list;
  for (std::string word; in >> word;) {
    if (const auto other = others.find(word); other != others.end()) word = other->second;
    if (is_number(word) || std::ranges::find(kNoModules, word) != kNoModules.end()) continue;
    list += (list.empty() ? "" : ",") + word;
  }
  return list;
}

void set_or_erase(CellTexts& cells, const std::string& column, const std::string& value) {
  if (value.empty()) {
    cells.erase(column);
  } else {
    cells[column] = value;
  }
}

bool is_on(const CellTexts& cells, const std::string& column) {
  const std::string text = text_of(cells, column);
  return text == "1" || text == "true";
}

void translate_graphs(CellTexts& cells) {
  const std::string said = text_of(cells, "cuda_graphs");
  const std::string scope = text_of(cells, "cuda_graph_scope");
  const auto full = [](const std::string& text) {
    return text == "1" || text.find("full_iteration") != std::string::npos;
  };
  if (full(said) || full(scope)) {
    cells["cuda_graphs"] = "full";
    return;
  }
  const std::string modules = module_words(scope.empty() ? said : scope);
  set_or_erase(cells, "cuda_graphs", modules);
}

/// Formats by the frameworks' names; those that name a recipe, too (NeMo: fp8_cs), say it.
void translate_formats(CellTexts& cells) {
  constexpr std::array<std::array<const char*, 3>, 12> kFormats{{{"bfloat16", "bf16", ""},
                                                                 {"float16", "fp16", ""},
                                                                 {"float32", "fp32", ""},
                                                                 {"nvfp4", "fp4", ""},
                                                                 {"mxfp8", "fp8", "mxfp8"},
                                                                 {"fp8_mx", "fp8", "mxfp8"},
                                                                 {"fp8_cs", "fp8", "current"},
                                                                 {"fp8_ds", "fp8", "delayed"},
                                                                 {"fp8_sc", "fp8", "block"},
                                                                 {"fp8-block", "fp8", "block"},
                                                                 {"fp8_block", "fp8", "block"},
                                                                 {"fp8-tensor", "fp8", "current"}}};
  const std::string said = text_of(cells, "precision");
  if (said.empty()) return;
  cells["precision"] = said;
  for (const auto& [name, precision, recipe] : kFormats) {
    if (said != name) continue;
    cells["precision"] = precision;
    if (*recipe != '\0') cells.try_emplace("fp8_recipe", recipe);
  }
}

/// Attention by who wrote its kernel; which of them it is, the row's files say.
void translate_attention(CellTexts& cells) {
  const std::string said = text_of(cells, "attention");
  const auto begins = [&](const char* word) { return said.starts_with(word); };
  if (attention_kernel(said) || begins("flash") || said == "sdpa" || said == "te") {
    cells["attention"] = "flash";
  }
  if (said == "math" || said == "eager" || said == "naive") cells["attention"] = "unfused";
  // XLA's own kernels make scores; the flash kernel of JAX is Transformer Engine's.
  const bool by_xla =
      text_of(cells, "notes").find("xla kernels, no transformer engine") != std::string::npos;
  if (by_xla) cells["attention"] = "unfused";
}

/// Megatron's methods of full recompute, with their number of layers, where modules would stand.
void translate_recompute_first(CellTexts& cells) {
  constexpr std::string_view kBlock = "block ";
  const std::string said = text_of(cells, "recompute_modules");
  if (said.starts_with(kBlock)) cells["recompute_first"] = said.substr(kBlock.size());
}

/// PaxML's checkpoint policy of products that have no batch of their own, which notes name alone.
void translate_policy(CellTexts& cells) {
  const bool named =
      text_of(cells, "notes").find("save_dot_with_no_batch_dim") != std::string::npos;
  if (named && text_of(cells, "recompute") == "selective") cells["recompute_modules"] = "minimal";
}

void translate_overlap(CellTexts& cells) {
  std::string overlap = text_of(cells, "overlap");
  const auto add = [&](const char* word) {
    overlap += (overlap.empty() ? "" : ",") + std::string(word);
  };
  const std::string tensor = text_of(cells, "tp_comm_overlap");
  if (is_on(cells, "tp_comm_overlap")) add("tp");
  const bool beside = text_of(cells, "dispatcher").find("overlapped") != std::string::npos;
  if (is_on(cells, "a2a_overlap") || beside) add("ep");
  // Off by name, where the stack's default may be on.
  if (overlap.empty() && (tensor == "0" || tensor == "false")) overlap = "stack";
  set_or_erase(cells, "overlap", overlap);
}

/// Translates tables' words for adapters: "lora rank 16 on q_proj v_proj", "qlora", "lora+emb".
void translate_adapters(CellTexts& cells) {
  const std::string adapter = text_of(cells, "adapter");
  const auto says = [&](const char* word) { return adapter.find(word) != std::string::npos; };
  const auto number_behind = [&](const std::string& word) {
    const std::size_t at = adapter.find(word);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + word.size();
    return adapter.substr(begin, adapter.find_first_not_of("0123456789", begin) - begin);
  };
  if (says("lora") && !cells.contains("tuning")) cells["tuning"] = "lora";
  if (says("dora")) cells["tuning"] = "dora";
  if (says("emb") || text_of(cells, "lora_targets").find("trained") != std::string::npos) {
    cells.try_emplace("train_embeddings", "1");
  }
  if (const std::string rank = number_behind("rank "); !rank.empty()) {
    cells.try_emplace("lora_rank", rank);
  }
  if (const std::size_t on = adapter.find(" on "); on != std::string::npos) {
    cells.try_emplace("lora_targets", adapter.substr(on + 4));
  }
  if (says("qlora")) cells.try_emplace("base_precision", "nf4");
  if (!cells.contains("lora_targets")) return;
  // "q v + wte lm_head trained": tables that learn themselves stand behind the plus.
  std::string said = text_of(cells, "lora_targets");
  // A table of performance was run with the performance recipe's list where there are two.
  if (const std::size_t other = said.find("(default) or "); other != std::string::npos) {
    const bool measured = text_of(cells, "table").find("performance") != std::string::npos;
    said = measured ? said.substr(other + 13, said.find(" (perf", other) - other - 13)
                    : said.substr(0, other);
  }
  WordSet<AdapterTarget> targets = named_targets(said.substr(0, said.find(" + ")));
  // A configuration names modules of several models: those of GPT-2's are fused.
  using enum AdapterTarget;
  if (targets.has(qkv) && targets.has(q)) {
    const bool fused = text_of(cells, "position") == "learned";
    targets = fused ? WordSet<AdapterTarget>{qkv} : WordSet<AdapterTarget>{q, k, v, o};
  }
  set_or_erase(cells, "lora_targets", targets.empty() ? std::string() : cell_of(targets));
}

/// Where a table prints the mean tokens of a micro batch alone, rows are taken to be as long.
void translate_mean_tokens(CellTexts& cells) {
  const std::string said = text_of(cells, "length_distribution");
  const std::size_t equals = said.rfind("= ");
  if (cells.contains("seq_len") || equals == std::string::npos) return;
  const auto tokens = parse_integer(said.substr(equals + 2));
  const auto rows = parse_integer(text_of(cells, "mbs"));
  if (tokens && rows && *tokens >= *rows && *rows > 0) {
    cells["seq_len"] = std::to_string(*tokens / *rows);
  }
}

/// Optimizers by their classes: of 8 bits, paged ones, and those that update in the backward pass.
void translate_optimizer(CellTexts& cells) {
  translate(cells, "optimizer", {{"adam", "adam"}, {"distributed", "adam"}});
  const std::string said = text_of(cells, "optimizer_name");
  const auto says = [&](const char* word) { return said.find(word) != std::string::npos; };
  std::string name = says("paged")                   ? "adam-paged"
                     : says("8bit") || says("8 bit") ? "adam-8bit"
                                                     : "adam";
  if (says("in backward")) name += "-in-backward";
  if (name != "adam") cells.try_emplace("optimizer", name);
}

/// Losses that are fused with their product, where only the notes name their kernels. That of
/// fms-acceleration is not taken under FSDP: on 2 and 4 cards rows with it need as much memory and
/// time as those without.
void translate_loss(CellTexts& cells) {
  const std::string notes = text_of(cells, "notes");
  const bool runs_liger = notes.find("framework_config=") != std::string::npos &&
                          notes.find("-liger") != std::string::npos &&
                          text_of(cells, "gpus") == "1";
  if (runs_liger) cells.try_emplace("loss", "fused");
  // torchtune's ladder: of rows that add one technique each, those before the chunked loss. One
  // table names its rungs in the rows' names alone.
  if (notes.find("each row adds one technique to the row before") != std::string::npos) {
    const std::string id = text_of(cells, "id");
    if (id.ends_with("-packed")) cells.try_emplace("compile", "0");
    if (id.ends_with("-packed") || id.ends_with("-compile")) cells.try_emplace("loss", "whole");
  }
  if (notes.find("techniques added one after another") == std::string::npos) return;
  const bool is_chunked = text_of(cells, "check").find("chunked") != std::string::npos;
  cells.try_emplace("loss", is_chunked ? "chunked" : "whole");
}

/// MLPerf's reference of fine-tuning is the Trainer with PEFT, whatever round it was run in, by
/// DeepSpeed where its framework says so.
void translate_reference(CellTexts& cells) {
  const std::string framework = text_of(cells, "framework");
  if (framework.find("(hf reference)") == std::string::npos) return;
  cells["software"] = "hf-peft-2024";
  if (framework.starts_with("deepspeed")) cells.try_emplace("engine", "deepspeed");
}

/// A Trainer whose ZeRO stage is assumed is DeepSpeed's: full training has fp32 copies of weights,
/// adapters take stage 2 (Qwen's finetune_ds.sh and finetune_lora_ds.sh).
void translate_deepspeed(CellTexts& cells) {
  const bool assumed =
      text_of(cells, "notes").find("zero stage of this row is assumed") != std::string::npos;
  if (!assumed || !text_of(cells, "framework").starts_with("hf-trainer")) return;
  if (text_of(cells, "tuning") == "full") cells.try_emplace("master_weights", "fp32");
  if (text_of(cells, "tuning") == "lora") cells["zero_stage"] = "2";
}

/// The Trainer hands the model to DeepSpeed where the table says so; Qwen's scripts do for full
/// training (finetune_ds.sh) and for quantised bases (finetune_qlora_single_gpu.sh).
void translate_engine(CellTexts& cells) {
  if (!text_of(cells, "framework").starts_with("hf-trainer")) return;
  const bool by_scripts = text_of(cells, "source").starts_with("qwenlm/qwen ") &&
                          (text_of(cells, "base_precision").find("gptq") != std::string::npos ||
                           text_of(cells, "tuning") == "full");
  const bool said = text_of(cells, "table").find("deepspeed") != std::string::npos;
  if (said || by_scripts) cells.try_emplace("engine", "deepspeed");
}

/// Fused kernels beside the Trainer, where only the notes name them (fms-acceleration's foak).
void translate_kernels(CellTexts& cells) {
  constexpr std::string_view kConfig = "framework_config=";
  const std::string notes = text_of(cells, "notes");
  const std::size_t at = notes.find(kConfig);
  if (at == std::string::npos) return;
  const std::string config = notes.substr(at, notes.find(';', at) - at);
  const auto says = [&](const char* word) { return config.find(word) != std::string::npos; };
  // Adapters are fused beside quantised matrices alone.
  if (says("foak")) {
    cells["software"] = says("peft") ? "hf-trainer-foak-2025" : "hf-trainer-fast-kernels-2025";
  }
}

/// torchtune's adapters are of q and v where a table names none, as its configurations had them,
/// and its nf4 has scales in 8 bits. Its table of speed gives one plan for cards of 24 and of 48
/// GB; those of 48 GB repeat nothing: a slower card trains 1.5 times as fast there, in 14 (LoRA)
/// and 18 GiB more, which is what its layers keep.
void translate_torchtune(CellTexts& cells) {
  if (!text_of(cells, "framework").starts_with("torchtune")) return;
  const bool adapts = text_of(cells, "adapter").find("lora") != std::string::npos;
  if (adapts && text_of(cells, "lora_targets").empty()) cells["lora_targets"] = "q v";
  if (text_of(cells, "adapter").starts_with("qlora")) cells["base_precision"] = "nf4, doubly";
  const bool of_table = text_of(cells, "table") == "memory and training speed";
  if (of_table && text_of(cells, "gpu").find("a6000") != std::string::npos) {
    cells["recompute"] = "none";
  }
}

void translate_tuning(CellTexts& cells) {
  translate_torchtune(cells);
  translate_mean_tokens(cells);
  // Activations that wait in host memory are all that full recompute keeps.
  if (text_of(cells, "offload") == "activations") cells.try_emplace("offload_modules", "attn_norm");
  translate(cells, "offload", {{"see config", ""}, {"activations", ""}});
  translate_optimizer(cells);
  translate_loss(cells);
  translate_kernels(cells);
  translate_reference(cells);
  translate_deepspeed(cells);
  translate_engine(cells);
  translate_adapters(cells);
  const std::string notes = text_of(cells, "notes");
  const bool grouped = notes.find("gptq") != std::string::npos;
  // A variable of MLPerf's scripts that only notes hold.
  if (notes.find("fp8_act=1") != std::string::npos ||
      notes.find("fp8_act=true") != std::string::npos) {
    cells.try_emplace("fp8_activation_store", "1");
  }
  if (const std::size_t said = notes.find("fp8_dpa="); said != std::string::npos) {
    const bool off =
        notes.compare(said + 8, 1, "0") == 0 || notes.compare(said + 8, 5, "false") == 0;
    if (off) cells.try_emplace("fp8_attention", "0");
    if (notes.compare(said + 8, 1, "1") == 0) cells.try_emplace("fp8_attention", "1");
  }
  translate(cells, "base_precision",
            {{"bf16", "bf16"},
             {"int4 gptq", "gptq-int4"},
             {"4-bit", grouped ? "gptq-int4" : "nf4"},
             {"nf4, doubly", "nf4-double"},
             {"nf4", "nf4"},
             {"nvfp4", "nvfp4"},
             {"fp8", "fp8"}});
  if (text_of(cells, "tuning") == "full") cells.erase("base_precision");
  // torchtune's ladder begins with Alpaca's sequences as they come.
  if (text_of(cells, "check").find("unpacked: lengths not printed") != std::string::npos) {
    cells["length_distribution"] = "alpaca-en";
  }
  // Without lengths, whole sequences.
  const std::string packing = text_of(cells, "packing");
  if (packing.starts_with("packed") && cells.contains("lengths")) {
    cells["packing"] = "packed";
  } else {
    cells.erase("packing");
  }
}

}  // namespace

void translate_cells(CellTexts& cells) {
  translate_tuning(cells);
  translate_overlap(cells);
  translate_graphs(cells);
  translate_formats(cells);
  translate_attention(cells);
  translate(cells, "status", {{"ok", "ok"}, {"oom", "oom"}, {"failed", "failed"}});
  translate(cells, "recompute",
            {{"uniform", "full"}, {"block", "full"}, {"true", "full"}, {"false", "none"}});
  translate(cells, "zero_stage", {{"fsdp", "3"}});
  if (is_on(cells, "fsdp")) cells.try_emplace("zero_stage", "3");
  translate(cells, "position", {{"yarn", "rope"}, {"rotary", "rope"}, {"nope", "none"}});
  translate(cells, "mlp", {{"relu2", "squared-relu"}, {"squared_relu", "squared-relu"}});
  if (text_of(cells, "fp8_recipe").find("fp8 all-gather") != std::string::npos) {
    cells.try_emplace("fp8_param_gather", "1");
  }
  translate(cells, "fp8_recipe",
            {{"current", "current"},
             {"fp8_cs", "current"},
             {"fp8_ds", "delayed"},
             {"fp8_mx", "mxfp8"},
             {"fp8_sc", "block"},
             {"subchannel", "block"},
             {"tensorwise", "current"},
             {"hybrid", "delayed"},
             {"mxfp8", "mxfp8"},
             {"blockwise", "block"},
             {"rowwise", "rowwise"}});
  translate(cells, "dispatcher",
            {{"alltoall", "alltoall"},
             {"uccl", "uccl"},
             {"deepep (uccl", "uccl"},
             {"deepep", "deepep"},
             {"hybridep", "hybridep"},
             {"allgather", "allgather"}});
  // Primus' names, the first of two chunks a stage and the memory of 1F1B; torchtitan's.
  translate(cells, "schedule",
            {{"zero-bubble-zbb", "zb-v"},
             {"zero-bubble", "zb-h1"},
             {"zbv", "zb-v"},
             {"dualpipev", "dualpipe-v"},
             {"interleaved", "interleaved-1f1b"}});
  translate(cells, "router_balance", {{"token drop", "dropped"}, {"capacity factor", "dropped"}});
  translate_recompute_first(cells);
  translate_policy(cells);
  if (cells.contains("recompute_modules")) {
    set_or_erase(cells, "recompute_modules",
                 module_words(text_of(cells, "recompute_modules"), {{"norm", "layernorm"},
                                                                    {"act", "moe_act"},
                                                                    {"op", "operators"},
                                                                    {"per-op", "operators"},
                                                                    {"layer", "blocks"}}));
  }
  if (const std::string split = text_of(cells, "stage_split");
      split.find('|') != std::string::npos) {
    cells["layout"] = cells["stage_split"];
    cells.erase("stage_split");
  }
  if (cells.contains("layout") && cells["layout"].find('|') == std::string::npos) {
    cells.erase("layout");
  }
  if (const std::string fp32 = text_of(cells, "grad_reduce_fp32");
      !fp32.empty() && !cells.contains("grad_precision")) {
    cells["grad_precision"] = is_on(cells, "grad_reduce_fp32") ? "fp32" : "bf16";
  }
  if (const std::string moments = text_of(cells, "moments_dtype");
      !moments.empty() && !cells.contains("moments_precision")) {
    cells["moments_precision"] = moments.find("bf") != std::string::npos ? "bf16" : "fp32";
  }
  translate(cells, "offload", {{"0", "none"}, {"optimizer,params", "optimizer+params"}});
}

std::optional<std::string> attention_kernel(const std::string& said) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kKernels{
      {{"flash-1", "flash-1"},
       {"flash-2", "flash-2"},
       {"flash2", "flash-2"},
       {"fa2", "flash-2"},
       {"flash-3", "flash-3"},
       {"flash3", "flash-3"},
       {"fa3", "flash-3"},
       {"flash-4", "flash-4"},
       {"flash4", "flash-4"},
       {"fa4", "flash-4"},
       {"cudnn", "cudnn"},
       {"flash-1-triton", "flash-1-triton"}}};
  const std::string word = lower_case(said);
  const auto found = std::ranges::find(kKernels, std::string_view(word),
                                       &std::pair<std::string_view, std::string_view>::first);
  if (found == kKernels.end()) return std::nullopt;
  return std::string(found->second);
}

bool is_of_fullest_rank(const std::string& notes) {
  return notes.find("max over ranks") != std::string::npos;
}

}  // namespace prequel
