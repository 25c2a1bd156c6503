#include "cli/import/settings/megatron_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/megatron_flags.hpp"
#include "cli/import/settings/tuning_flags.hpp"
#include "cli/import/shell/shell_state.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

bool is_switch(const std::string& flag) {
  return std::ranges::any_of(switch_flags(),
                             [&](const SwitchFlag& known) { return flag == known.flag; });
}

/// Whether what stands behind the flag may be more than one word.
bool takes_list(std::string flag) {
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (flag == "--spec") return true;  // a module and a name in it
  return std::ranges::any_of(list_flags(),
                             [&](const ListFlag& known) { return flag == known.flag; });
}

constexpr std::string_view kBetweenWords = " ,[]()\"'";
constexpr const char* kTokenizers[] = {
    "--tokenizer-type", "--tokenizer-model",   "--tokenizer-name-or-path",
    "--tokenizer-name", "--hf-tokenizer-path", "--patch-tokenizer-type",
    "--vocab-file",     "--tokenizer",         "--tokenizer-file"};
constexpr const char* kModelNames[] = {"--model-name-or-path",
                                       "--model-name",
                                       "--base-model",
                                       "--hf-path",
                                       "--recipe",
                                       "--factory",
                                       "--litgpt-model",
                                       "--litgpt-finetune",
                                       "--model-recipe-name"};
/// Of those, names of recipes, which say more than a shape.
constexpr const char* kRecipes[] = {"--recipe", "--factory", "--model-recipe-name"};
/// Flags that name a model where no other does.
constexpr const char* kOtherModelNames[] = {"--model", "--pretrain", "--pretrained",
                                            "--model-variant"};
/// What generates the text to learn from.
constexpr const char* kReinforced[] = {"--advantage-estimator", "--rollout-batch-size",
                                       "--n-samples-per-prompt"};
/// OLMo's ways to repeat the forward pass of some layers only.
constexpr std::string_view kSomeLayers[] = {"fine_grained", "one_in_two",   "one_in_three",
                                            "one_in_four",  "two_in_three", "three_in_four"};

/// A Python or shell number: "2048", "220_000_000".
std::optional<long long> whole(std::string text) {
  std::erase(text, '_');
  return parse_integer(text);
}

class Arguments {
 public:
  Arguments(std::string file, NameSource source, ImportedJob& job)
      : file_(std::move(file)), source_(source), job_(job) {}

  void take(const std::string& spelt, std::string value) {
    std::string flag = spelt;
    std::replace(flag.begin(), flag.end(), '_', '-');
    const ForeignNames::Names& names = job_.names->flags;
    if (const auto same = names.find(flag); same != names.end()) flag = same->second;
    // torch.optim.AdamW is AdamW.
    if (flag == "--optimizer") value.erase(0, value.rfind('.') + 1);  // npos + 1 is 0
    for (const NumberFlag& known : number_flags()) {
      if (flag == known.flag) return number(flag, value, known.field(job_));
    }
    for (const SwitchFlag& known : switch_flags()) {
      if (flag == known.flag) return turn(known, value);
    }
    bool is_word_flag = false;
    for (const WordFlag& known : word_flags()) {
      is_word_flag = is_word_flag || flag == known.flag;
      if (flag == known.flag && value == known.word) {
        job_.said.try_emplace(flag, 1);
        return known.apply(job_);
      }
    }
    for (const NumberFlag& known : device_flags()) {
      if (flag == known.flag) return devices(flag, value, known.field(job_));
    }
    for (const ListFlag& known : list_flags()) {
      if (flag == known.flag) return list(known, value);
    }
    if (refuse_unpriced(flag, value)) return;
    if (read_special(flag, value)) return;
    const bool resolved = value.find('$') == std::string::npos;
    if (resolved && note_by_name(flag, value)) return;
    if (is_word_flag && resolved && !says_nothing(flag, value)) {
      return leave_out(flag, value, "is not known; predicted without it");
    }
    const bool open = is_word_flag || !resolved;
    if (seen_.insert(flag).second) {
      job_.report.ignored.push_back(open ? flag + " " + value : flag);
    }
  }

 private:
  /// What a flag that is not known may say by its name: how many there are of something, or a
  /// model's name, which also stands in what is ignored.
  bool note_by_name(const std::string& flag, const std::string& value) {
    if (auto number = number_by_name(*job_.names, flag, value)) {
      job_.by_names.push_back(std::move(*number));
      return true;
    }
    if (auto effect = effect_by_name(flag, value)) {
      job_.effects_by_name.push_back(std::move(*effect));
      return true;
    }
    note_file(flag, value);
    for (const char* part :
         {"model", "ckpt", "checkpoint", "pretrain", "restore-from", "load", "arch", "config",
          "weights", "init-from", "resume", "backbone", "llm", "lm-path", "base"}) {
      if (flag.find(part) == std::string::npos || value.empty()) continue;
      job_.models_perhaps.emplace_back(flag, value);
      break;
    }
    return false;
  }

  /// A rank of adapters, or a switch that trains them, by its name: `--lora_dim 128`.
  void note_adapters(const std::string& flag, const std::string& value) {
    const auto has = [&](const char* part) { return flag.find(part) != std::string::npos; };
    const bool trains = has("rank") || has("dim") || has("use") || has("enable");
    if (!has("lora") || !trains || value.empty()) return;
    const bool rank = has("rank") || has("dim");
    static_cast<void>(take_tuning(rank ? "--lora-rank" : "--use-lora", value, job_));
  }

  /// A configuration behind a flag of any program: `--train-args-file sft.json`.
  void note_file(const std::string& flag, const std::string& value) {
    constexpr std::string_view kEndings[] = {".json", ".yaml", ".yml", ".toml"};
    constexpr std::string_view kParts[] = {"config", "cfg", "args", "recipe", "setting", "param"};
    constexpr std::string_view kOthers[] = {"data", "eval", "token", "vocab", "generat", "log"};
    const auto has_one = [&](const auto& parts) {
      return std::ranges::any_of(
          parts, [&](std::string_view part) { return flag.find(part) != std::string::npos; });
    };
    const bool config = std::ranges::any_of(
        kEndings, [&](std::string_view ending) { return value.ends_with(ending); });
    if (config && has_one(kParts) && !has_one(kOthers)) job_.files_named.push_back(value);
  }

  /// Words that leave a choice to the program, and flags whose word only names a family.
  static bool says_nothing(const std::string& flag, const std::string& value) {
    constexpr std::string_view kNothing[] = {"",      "auto",  "null", "none", "None",
                                             "false", "False", "no",   "off",  "default"};
    return flag == "--model-type" || flag == "--recompute-method" ||
           std::ranges::find(kNothing, value) != std::end(kNothing);
  }

  /// Flags that are neither read nor passed over as they are.
  bool read_special(const std::string& flag, const std::string& value) {
    if (flag == "--nodes") {  // Slurm takes a range, too: at least that many
      number(flag, value.substr(0, value.find('-', 1)), job_.plan.nodes);
    } else if (flag == "--rampup-batch-size") {
      job_.report.assumed.emplace_back("the batch size at the end of --rampup-batch-size");
    } else if (std::ranges::find(kTokenizers, flag) != std::end(kTokenizers)) {
      if (flag == kTokenizers[0]) job_.said.try_emplace(flag, 1);
      // What names its files says more than its type.
      job_.tokenizer.insert(flag == kTokenizers[0] ? job_.tokenizer.end() : job_.tokenizer.begin(),
                            value);
    } else if (flag == "--moe-layer-freq") {
      job_.said.try_emplace(flag, 1);
      job_.expert_layers = value;
    } else if (flag == "--pipeline-model-parallel-layout") {
      job_.said.try_emplace(flag, 1);
      job_.plan.layout = value;
    } else if (flag == "--moe-expert-capacity-factor" || flag == "--moe-train-capacity-factor") {
      capacity(flag, value);
    } else if (flag == "--optimizer-offload-fraction") {
      fraction(flag, value, job_.plan.optimizer_offload);
    } else if (flag == "--hidden-dropout") {
      drops(flag, value, job_.model.dropout);
    } else if (flag == "--attention-dropout") {
      drops(flag, value, job_.model.score_dropout);
    } else if (flag == "--hidden-dim-multiplier" || flag == "--ffn-dim-multiplier") {
      scale(flag, value);
    } else if (flag == "--deepspeed-config") {
      job_.deepspeed = true;
      job_.deepspeed_config_file = value;
      job_.files_named.push_back(value);
    } else if ((flag == "--fsdp" || flag == "--sharding-strategy") && !value.empty()) {
      fully_sharded(value);
    } else if (std::ranges::find(kReinforced, flag) != std::end(kReinforced)) {
      reinforced(flag, value);
    } else if (flag == "--model-name" && job_.says(kSwift)) {
      job_.report.ignored.push_back(flag);  // what the model is taught to call itself
    } else if (flag == "--torch-dtype" && job_.says(kSwift)) {
      take("--precision", value);  // ms-swift's trains in it, too
    } else if (flag == "--data-split") {
      job_.said.try_emplace(flag, 1);  // DeepSpeed-Chat's
      job_.report.ignored.push_back(flag);
    } else if ((flag == "--stage" || flag == "--rl" || flag == "--rlhf-type") &&
               several_models(value)) {
      if (!take_objective(flag, value, job_)) tell_several(flag, value);
    } else if (flag == "--merge-file") {  // of GPT-2's, Megatron's tokenizer if no other is named
      job_.said.try_emplace(flag, 1);
      if (seen_.insert(flag).second) job_.report.ignored.push_back(flag);
    } else if (flag == "--load" && job_.says(kSwiftMegatron)) {
      if (job_.model_named.empty()) job_.model_named = value;
    } else if (std::ranges::find(kModelNames, flag) != std::end(kModelNames)) {
      job_.model_named = value;
      const bool recipe = std::ranges::find(kRecipes, flag) != std::end(kRecipes);
      job_.said.try_emplace(recipe ? "--recipe" : flag, 1);
    } else if (std::ranges::find(kOtherModelNames, flag) != std::end(kOtherModelNames)) {
      if (job_.model_named.empty()) job_.model_named = value;
    } else if (take_tuning(flag, value, job_)) {
    } else if (flag == "--config-name" || flag == "--config") {
      // Hydra's is a name; that of Hugging Face's scripts is a model's.
      const bool model = flag == "--config-name" && value.find('/') != std::string::npos;
      (model ? job_.model_named : job_.yaml_config_file) = value;
      if (!model) job_.files_named.push_back(value);
    } else if (flag == "--model-family") {
      job_.torchtitan.family = value;
    } else if (flag == "--flavor") {
      job_.torchtitan.flavour = value;
    } else if (flag == "--train-batch-size") {
      number(flag, value, train_batch_);
    } else if (flag == "--use-fsdp" || flag == "--fsdp") {
      job_.said.try_emplace("--use-fsdp", 1);
    } else if (flag == "--config-overrides") {
      overrides(value);
    } else if (flag == "--config-file" || flag == "--yaml-cfg") {
      job_.yaml_config_file = value;
      job_.files_named.push_back(value);
      if (flag == "--config-file") job_.accelerate_file = value;
    } else {
      return not_modelled(flag, value);
    }
    return true;
  }

  /// PyTorch's words for what is sharded and where, or their numbers.
  void fully_sharded(const std::string& value) {
    PlanRequest& plan = job_.plan;
    job_.said.try_emplace(kFullySharded, 1);
    if (names(value, "offload")) plan.offload = Offload::optimizer_params;
    if (names(value, "hybrid")) plan.sharding_group = ShardingGroup::node;
    // NeMo's words are full, hybrid and grad.
    if (value == "fully_sharded" && job_.plan.zero == 2) {
      // metaseq's, beside --no-reshard-after-forward
    } else if (names(value, "full") || names(value, "hybrid") || value == "1") {
      plan.zero = 3;
    } else if (names(value, "shard_grad_op") || value == "grad" || value == "2") {
      plan.zero = 2;
    } else if (names(value, "no_shard") || value == "3" || names(value, "ddp") || value == "c10d") {
      plan.zero = 0;
    } else {
      leave_out("--fsdp", value, "says that states are sharded, not how; --zero N does");
    }
  }

  /// Hugging Face's `n_embd=1024,n_layer=24` over the sizes of a family.
  void overrides(const std::string& settings) {
    job_.said.try_emplace(kModelOverrides, 1);
    for (std::size_t at = 0; at < settings.size();) {
      const std::size_t end = std::min(settings.find(',', at), settings.size());
      const std::size_t equals = settings.find('=', at);
      if (equals < end) {
        take("--" + settings.substr(at, equals - at),
             settings.substr(equals + 1, end - equals - 1));
      }
      at = end + 1;
    }
  }

  /// Ways to train that take a second model, as LLaMA-Factory, axolotl and ms-swift name them.
  static bool several_models(std::string_view value) {
    constexpr std::string_view kWays[] = {"ppo", "grpo", "rloo",   "gkd",  "dpo",   "ipo",
                                          "kto", "rm",   "reward", "orpo", "simpo", "cpo"};
    return std::ranges::find(kWays, value) != std::end(kWays);
  }
  void tell_several(const std::string& flag, const std::string& value) {
    if (value == "ppo" || value == "grpo" || value == "rloo") return reinforced(flag, value);
    if (!seen_.insert("several").second) return;
    job_.report.left_out.push_back(
        fmt::format("{} {}: prefers one answer to another, with a second model or in pairs; what "
                    "is predicted is training one model on the same tokens",
                    flag, printable(value)));
  }

  void reinforced(const std::string& flag, const std::string& value) {
    if (!seen_.insert("reinforced").second) return;
    job_.report.left_out.push_back(
        fmt::format("{} {}: learns by reinforcement, which takes several models and generates "
                    "text; what is predicted is training one model on the same tokens",
                    flag, printable(value)));
  }

  /// Refuses what asks for another model or training than is priced. A value that nothing resolves
  /// may be any, so that it is only told. Returns whether the flag is of that kind.
  bool refuse_unpriced(const std::string& flag, const std::string& value) {
    if (!is_named(job_.names->unpriced, flag)) return false;
    job_.said.try_emplace(flag, 1);
    const UnpricedRow* row = asked_for(job_.names->unpriced, flag, value, source_);
    if (row == nullptr) return true;
    if (value.find('$') != std::string::npos) {
      leave_out(flag, value, "could not be resolved; predicted without it");
      return true;
    }
    throw InputError(fmt::format("{}: {}{}{}: {}", file_, flag, value.empty() ? "" : " ",
                                 printable(value), unpriced_text(*row)));
  }

  /// Whether a list of words in any case has this one, in small letters, in it.
  static bool names(const std::string& value, std::string_view word) {
    return lower_case(value).find(word) != std::string::npos;
  }

  bool not_modelled(const std::string& flag, const std::string& value) {
    const auto known = std::ranges::find(unmodelled_flags(), flag, &UnmodelledFlag::flag);
    const bool other_optimizer = flag == "--optimizer" && !value.empty();
    if (known == unmodelled_flags().end() && !other_optimizer) return false;
    job_.said.try_emplace(flag, 1);
    if (other_optimizer) {
      leave_out(flag, value, "is not modelled; predicted with Adam's");
    } else if (*known->neutral == '\0' || value != known->neutral) {
      leave_out(flag, *known->neutral == '\0' ? "" : value,
                "changes time or memory and is not modelled; predicted without it");
    }
    return true;
  }

  void leave_out(const std::string& flag, const std::string& value, const char* why) {
    if (!seen_.insert(flag).second) return;
    job_.report.left_out.push_back(
        fmt::format("{}{}{} {}", flag, value.empty() ? "" : " ", printable(value), why));
  }

  /// Words between blanks, commas and brackets.
  void list(const ListFlag& known, const std::string& value) {
    if (value.find('$') != std::string::npos) {
      job_.unresolved.insert(known.flag);
      return leave_out(known.flag, value, "could not be resolved; predicted without it");
    }
    if (std::string_view(known.flag) == "--attention-config" &&
        (names(value, "mamba") || names(value, "rwkv"))) {
      throw InputError(fmt::format(
          "{}: {} {}: layers without attention; only decoders of attention and MLPs are modelled",
          file_, known.flag, printable(value)));
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t begin = value.find_first_not_of(kBetweenWords, at);
      if (begin == std::string::npos) break;
      at = std::min(value.find_first_of(kBetweenWords, begin), value.size());
      words.push_back(value.substr(begin, at - begin));
    }
    if (known.each_word && !words.empty()) {
      keep_known(known, words);
      if (words.empty()) return;
    }
    if (known.take(job_, words)) {
      job_.said.try_emplace(known.flag, 1);
    } else {
      leave_out(known.flag, value, "is not known; predicted without it");
    }
  }

  /// Drops and tells the words that are not known, so that the others count.
  void keep_known(const ListFlag& known, std::vector<std::string>& words) {
    const auto unknown = std::ranges::stable_partition(words, [&](const std::string& word) {
      ImportedJob alone = job_;
      return known.take(alone, {word});
    });
    for (const std::string& word : unknown) {
      job_.report.left_out.push_back(
          fmt::format("{} {}: not known; predicted without it", known.flag, printable(word)));
    }
    words.erase(unknown.begin(), words.end());
  }

  void fraction(const std::string& flag, const std::string& value, std::optional<double>& field) {
    const auto found = parse_number(value);
    if (!found || !(*found >= 0 && *found <= 1)) {
      return leave_out(flag, value, "is no number from 0 to 1; predicted without it");
    }
    field = *found;
    job_.said.try_emplace(flag, 1);
  }

  /// Whether a share is dropped at all.
  void drops(const std::string& flag, const std::string& value, std::optional<bool>& field) {
    std::optional<double> share;
    fraction(flag, value, share);
    if (share) field = *share > 0;
  }

  void scale(const std::string& flag, const std::string& value) {
    constexpr double kMost = 64;
    const auto found = parse_number(value);
    if (!found || !(*found > 0 && *found < kMost)) {
      return leave_out(flag, value, "is no number from 0 to 64; predicted without it");
    }
    job_.ffn_scale = *found;
    job_.said.try_emplace(flag, 1);
  }

  void capacity(const std::string& flag, const std::string& value) {
    const auto found = parse_number(value);
    if (!found || !(*found > 0)) {
      return leave_out(flag, value, "is no positive number; predicted without it");
    }
    job_.capacity_factor = *found;
    job_.said.try_emplace(flag, 1);
  }

  /// Alone, or as Hugging Face's Trainer has it, with True or False.
  void turn(const SwitchFlag& known, const std::string& value) {
    if (value == "False" || value == "false" || value == "0") {
      constexpr std::string_view kRepeats[] = {"--gradient-checkpointing",
                                               "--activation-checkpointing"};
      if (std::ranges::find(kRepeats, known.flag) != std::end(kRepeats)) {
        job_.plan.recompute = Recompute::none;
      }
      return;
    }
    job_.said.try_emplace(known.flag, 1);
    if (std::ranges::find(kSomeLayers, value) != std::end(kSomeLayers)) {
      return leave_out(known.flag, value, "repeats some layers only; predicted without it");
    }
    if (known.flag == std::string_view("--deepspeed")) return deepspeed(known, value);
    known.apply(job_);
  }

  /// The Trainer names a file, or a configuration of its own by the stage.
  void deepspeed(const SwitchFlag& known, const std::string& value) {
    if (value.ends_with(".json") || value.find("zero") != std::string::npos) {
      job_.deepspeed_config_file = value;
      job_.files_named.push_back(value);
    }
    known.apply(job_);
  }

  /// `8`, `a100:8`, `gpu:8` or `gpu:a100:8`, of a list with commas the first of GPUs; one device
  /// where there is no number. Other resources (`--gres=nvme`) are none of ours.
  void devices(const std::string& flag, const std::string& value, Count& field) {
    if (value == "all") {  // of docker
      job_.report.assumed.push_back(flag + " all: all devices of a node");
      return;
    }
    std::string mine = value;
    if (flag == "--gres") {
      mine.clear();
      for (std::size_t at = 0; at < value.size() && mine.empty();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        if (value.compare(at, 3, "gpu") == 0) mine = value.substr(at, end - at);
        at = end + 1;
      }
      if (mine.empty()) return job_.report.ignored.push_back(flag + "=" + value);
    }
    if (flag == "--gpus" && mine.find_first_of(", ") != std::string::npos) {  // by their numbers
      const auto count =
          std::ranges::count_if(mine, [](char c) { return c == ',' || c == ' '; }) + 1;
      return number("--nproc-per-node", std::to_string(count), job_.gpus_per_node);
    }
    const std::size_t last = mine.rfind(':');
    std::string count = last == std::string::npos ? mine : mine.substr(last + 1);
    std::string type = last == std::string::npos ? std::string() : mine.substr(0, last);
    if (flag == "--gres" && (last == std::string::npos || is_type(count))) {
      type = mine;
      count = "1";
    }
    const std::string name = type.substr(type.rfind(':') + 1);  // npos + 1 is 0
    if (!name.empty() && name != "gpu") job_.device_type = name;
    number(flag, count, field);
  }

  /// A type of device where a number could stand: `a100` of `gpu:a100`.
  static bool is_type(const std::string& text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  }

  /// `--nnodes=1:4`: as many as are there, which may be four.
  void range(const std::string& flag, const std::string& value, std::size_t colon, Count& field) {
    const auto least = whole(value.substr(0, colon));
    const std::string most = value.substr(colon + 1);
    if (!least || !whole(most)) return refuse_number(flag, value);
    number(flag, most, field);
    if (*least == whole(most)) return;
    job_.report.assumed.push_back(fmt::format("{} {}: the most of {}", flag, most, value));
  }

  void refuse_number(const std::string& flag, const std::string& value) {
    throw InputError(fmt::format("{}: {}: expected a whole number from 0 to {}, got {}", file_,
                                 flag, 1LL << 30, in_quotes(value)));
  }

  /// `$(nvidia-smi -L | wc -l)` and the like: as many as a node has.
  bool counts_devices(const std::string& flag, const std::string& value) {
    const bool of_node = flag == "--nproc-per-node" || flag == "--num-gpus";
    const bool counts = value.find("nvidia-smi") != std::string::npos ||
                        value.find("device_count") != std::string::npos;
    if (!of_node || !counts) return false;
    job_.said.try_emplace(flag, 0);
    job_.report.assumed.push_back(flag + " " + printable(value) + ": all devices of a node");
    return true;
  }

  void number(const std::string& flag, const std::string& value, Count& field) {
    if (counts_devices(flag, value)) return;
    if (value.find('$') != std::string::npos || value.find('`') != std::string::npos) {
      job_.unresolved.insert(flag);
      job_.report.assumed.push_back(
          fmt::format("{} is left out: {} could not be resolved", flag, printable(value)));
      return;
    }
    if (flag != "--nproc-per-node" && value == "auto") {
      job_.report.assumed.push_back(flag + " is left out: auto leaves it to the program");
      return;
    }
    if (flag == "--nproc-per-node" && (value == "gpu" || value == "auto")) {
      job_.report.assumed.push_back(flag + " " + value + ": all devices of a node");
      return;
    }
    if (const std::size_t colon = value.find(':'); colon != std::string::npos) {
      return range(flag, value, colon, field);
    }
    // What no one set, in torchtitan's configurations and in Python's words.
    if (value == "-1" || value == "none" || value == "None" || value == "null") return;
    const auto found = whole(value);
    if (!found || *found < 0 || *found > (1LL << 30)) return refuse_number(flag, value);
    const auto before = set_by_.find(&field);
    if (before != set_by_.end() && field != *found) {
      job_.report.assumed.push_back(
          fmt::format("{} {}, which comes last, not {} {}", flag, *found, before->second, *field));
    }
    set_by_[&field] = flag;
    field = *found;
    job_.said[flag] = *found;
  }

  std::string file_;
  NameSource source_;
  ImportedJob& job_;
  Count train_batch_;  ///< of a device or of all: see follow_train_batch
  std::set<std::string> seen_;
  std::map<const Count*, std::string> set_by_;  ///< the flag that set a field last
};

}  // namespace

void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             ImportedJob& job, NameSource source) {
  Arguments arguments(file, source, job);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // What stands alone, behind no flag that could take it, may have been flags.
    if (words[i].starts_with('$') &&
        (i == 0 || !words[i - 1].starts_with("--") || is_switch(words[i - 1]))) {
      job.report.ignored.push_back(printable(words[i]) + " (not resolved)");
    }
    if (words[i] == "-np" && i + 1 < words.size()) {  // mpirun's number of processes
      arguments.take("--gpus", words[i + 1]);
    }
    if (!words[i].starts_with("--") || words[i].size() == 2) continue;
    const std::size_t equals = words[i].find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--") &&
               words[i + 1] != kCommandEnd) {
      value = words[i + 1];
    }
    if (equals == std::string::npos && takes_list(words[i])) {
      for (std::size_t next = i + 2;
           next < words.size() && !words[next].starts_with('-') && words[next] != kCommandEnd;
           ++next) {
        value += " " + words[next];
      }
    }
    std::erase(value, '\'');  // quotes that came out of a quoted variable
    arguments.take(words[i].substr(0, equals), value);
  }
}

}  // namespace prequel
