#include "cli/import/settings/tuning_flags.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"
#include "models/axes/adapter_targets.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostRank = 1 << 13;
constexpr std::int64_t kUsualLastLayers = 2;  // LLaMA-Factory's freeze_trainable_layers
constexpr const char* kSingleQuantization = "--no-double-quantization";
constexpr const char* kPrecomputed = "--precomputed-reference";

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

bool is_off(const std::string& value) {
  constexpr std::string_view kOff[] = {"false", "0", "none", "null", "no", ""};
  return is_one_of(kOff, lower_case(value));
}

void leave_out(ImportedJob& job, const std::string& flag, const std::string& value,
               std::string_view why) {
  job.report.left_out.push_back(fmt::format("{} {}: {}", flag, printable(value), why));
}

/// How a model is trained, in one word.
void take_way(const std::string& flag, const std::string& value, ImportedJob& job) {
  constexpr std::string_view kFull[] = {"full", "pt", "pretrain", "none", "null"};
  const std::string word = lower_case(value);
  PlanRequest& plan = job.plan;
  if (is_off(word) || is_one_of(kFull, word)) {
    plan.tuning = Tuning::full;
  } else if (word.starts_with("dora")) {
    plan.tuning = Tuning::dora;
  } else if (word == "lora" || word == "true" || word == "1") {
    if (plan.tuning != Tuning::dora) plan.tuning = Tuning::lora;
  } else if (word == "freeze") {
    plan.tuning = Tuning::full;
    if (!plan.learning_layers) plan.learning_layers = kUsualLastLayers;
  } else if (word == "qlora") {
    plan.tuning = Tuning::lora;
    if (!plan.base_precision) plan.base_precision = BaseFormat::nf4;
  } else {
    plan.tuning = Tuning::lora;
    leave_out(job, flag, value, "another kind of adapter; predicted as LoRA");
  }
}

/// Bits of the weights that do not learn, in bitsandbytes' formats.
void take_bits(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (value == "4") {
    job.plan.base_precision = BaseFormat::nf4;
  } else if (value == "8") {
    job.plan.base_precision = BaseFormat::int8;
  } else if (!is_off(value) && value != "16") {
    leave_out(job, flag, value, "prequel prices 4 or 8 bits; predicted with 16");
  }
}

void take_rank(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (is_off(value)) return;
  const auto rank = parse_integer(value);
  if (!rank || *rank < 1 || *rank > kMostRank) {
    return leave_out(job, flag, value, fmt::format("no rank from 1 to {}", kMostRank));
  }
  job.plan.lora_rank = *rank;
  if (!job.plan.tuning) job.plan.tuning = Tuning::lora;
}

void take_targets(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (is_off(value)) return;
  const WordSet<AdapterTarget> targets = named_targets(value);
  if (targets.empty()) {
    return leave_out(job, flag, value, "unknown modules; predicted with all");
  }
  WordSet<AdapterTarget> all = job.plan.lora_targets.value_or(WordSet<AdapterTarget>{});
  for (const AdapterTarget each : all_of<AdapterTarget>()) {
    if (targets.has(each)) all.add(each);
  }
  job.plan.lora_targets = all;
}

/// LLaMA-Factory counts the last layers; a number below 0 counts the first.
void take_last_layers(const std::string& flag, const std::string& value, ImportedJob& job) {
  const auto layers = parse_integer(value);
  if (layers && *layers > 0) {
    job.plan.learning_layers = *layers;
  } else {
    leave_out(job, flag, value, "the last layers can learn alone, others cannot");
  }
}

/// Numbers of the layers with adapters, as PEFT lists them.
void take_listed_layers(const std::string& flag, const std::string& value, ImportedJob& job) {
  std::string plain = value;
  std::ranges::replace_if(
      plain, [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
  std::istringstream in(plain);
  std::vector<std::int64_t> layers;
  for (std::string word; in >> word;) {
    const auto number = parse_integer(word);
    if (!number) return leave_out(job, flag, value, "expected numbers of layers");
    layers.push_back(*number);
  }
  if (layers.empty()) return;
  std::ranges::sort(layers);
  const std::int64_t count = std::ssize(layers);
  if (layers.back() - layers.front() + 1 != count) {
    return leave_out(job, flag, value, "the last layers can learn alone, others cannot");
  }
  job.plan.learning_layers = count;
  job.report.assumed.push_back(
      fmt::format("learning_layers {}: layers {} to {} are taken to be the "
                  "last",
                  count, layers.front(), layers.back()));
}

void take_layer_modules(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (lower_case(value) != "all") leave_out(job, flag, value, "predicted with whole layers");
}

/// Modules that learn whole beside adapters.
void take_tables(const std::string& flag, const std::string& value, ImportedJob& job) {
  constexpr std::string_view kTables[] = {"embed", "lm_head", "wte"};
  const std::string word = lower_case(value);
  if (std::ranges::any_of(
          kTables, [&](std::string_view table) { return word.find(table) != std::string::npos; })) {
    job.plan.train_embeddings = true;
  } else if (!is_off(value)) {
    leave_out(job, flag, value, "tables can learn beside adapters, other modules cannot");
  }
}

/// How rows are filled. Concatenation without masks is what LLaMA-Factory's `packing` does alone.
void take_packing(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (is_off(value)) return;
  const bool causal =
      flag == "--packing" && job.says("--finetuning-type") && job.plan.packing != Packing::packed;
  job.plan.packing = causal ? Packing::packed_causal : Packing::packed;
}

void take_dropout(const std::string& /*flag*/, const std::string& value, ImportedJob& job) {
  const auto share = parse_number(value);
  if (share && *share >= 0 && *share <= 1) job.plan.lora_dropout = *share;
}

void take_double_quantization(const std::string& /*flag*/, const std::string& value,
                              ImportedJob& job) {
  job.said.try_emplace(is_off(value) ? kSingleQuantization : "--double-quantization", 1);
}

/// The loss of a stage of preferences; those that need no reference count for more than the stage.
void take_preference(const std::string& /*flag*/, const std::string& value, ImportedJob& job) {
  if (value == "orpo") job.plan.objective = Objective::orpo;
  if (value == "simpo") job.plan.objective = Objective::simpo;
}

}  // namespace

bool take_objective(const std::string& flag, const std::string& value, ImportedJob& job) {
  // IPO is another loss over DPO's passes, CPO over ORPO's.
  constexpr std::pair<std::string_view, Objective> kWords[] = {
      {"dpo", Objective::dpo},     {"ipo", Objective::dpo},       {"rm", Objective::reward},
      {"kto", Objective::kto},     {"reward", Objective::reward}, {"orpo", Objective::orpo},
      {"simpo", Objective::simpo}, {"cpo", Objective::orpo}};
  const auto* const found =
      std::ranges::find(kWords, value, &std::pair<std::string_view, Objective>::first);
  if (found == std::end(kWords)) return false;
  if (found->second != Objective::dpo || !job.plan.objective) job.plan.objective = found->second;
  job.said.try_emplace(flag, 1);
  return true;
}

bool takes_objective_of(std::string_view program, ImportedJob& job) {
  if (program.ends_with(".py")) program.remove_suffix(3);
  std::string words(program);
  std::ranges::replace_if(
      words, [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    if (take_objective("--stage", word, job)) return true;
  }
  return false;
}

namespace {

/// Readers of settings, by their names in data/import/. Some have no value where they stand alone,
/// others are switches, which do nothing where they are off.
struct TuningReader {
  std::string_view name;
  void (*take)(const std::string& flag, const std::string& value, ImportedJob& job);
  enum { valued, listed, on } kind{};
};
constexpr TuningReader kTuningReaders[] = {
    {"tuning", take_way},
    {"lora_rank", take_rank, TuningReader::listed},
    {"lora_targets", take_targets, TuningReader::listed},
    {"lora_mlp",  // of torchtune
     [](const std::string& flag, const std::string&, ImportedJob& job) {
       take_targets(flag, "gate up down", job);
     },
     TuningReader::on},
    {"lora_dropout", take_dropout},
    {"bits", take_bits},
    {"double_quantization", take_double_quantization},
    {"pref_loss", take_preference},
    {"precomputed_reference",
     [](const std::string&, const std::string&, ImportedJob& job) {
       job.said.try_emplace(kPrecomputed, 1);
     },
     TuningReader::on},
    {"last_layers", take_last_layers},
    {"layer_modules", take_layer_modules},
    {"listed_layers",
     [](const std::string& flag, const std::string& value, ImportedJob& job) {
       if (!is_off(value)) take_listed_layers(flag, value, job);
     }},
    {"tables", take_tables},
    {"packing", take_packing},
    {"fused_adapters",
     [](const std::string& flag, const std::string& value, ImportedJob& job) {
       leave_out(job, flag, value, "fused adapters; predicted with PEFT's");
     },
     TuningReader::on},
    {"noted", [](const std::string&, const std::string&, ImportedJob&) {}}};

}  // namespace

bool is_tuning_reader(std::string_view name) {
  return name == "reward" ||
         std::ranges::find(kTuningReaders, name, &TuningReader::name) != std::end(kTuningReaders);
}

bool take_tuning(const std::string& name, const std::string& flag, const std::string& said,
                 ImportedJob& job) {
  if (name == "reward") {  // axolotl's switch; others name a model
    if (lower_case(said) != "true" && !said.empty()) return false;
    job.plan.objective = Objective::reward;
  } else {
    const auto* const reader = std::ranges::find(kTuningReaders, name, &TuningReader::name);
    if (reader == std::end(kTuningReaders)) return false;
    const bool stands_alone = said.empty() && reader->kind != TuningReader::listed;
    const std::string value = stands_alone ? "true" : said;
    if (reader->kind != TuningReader::on || !is_off(value)) reader->take(flag, value, job);
  }
  job.said.try_emplace(flag, 1);
  return true;
}

}  // namespace prequel
