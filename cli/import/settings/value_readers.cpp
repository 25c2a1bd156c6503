#include "cli/import/settings/megatron_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"
#include "models/axes/adapter_targets.hpp"
#include "models/axes/axis_text.hpp"
#include "models/shape/layer_pattern.hpp"

namespace prequel {
namespace {

using Words = std::vector<std::string>;

/// One kind, perhaps said once for each layer.
bool context_comm(Facts& job, const Words& words) {
  if (words.empty() || std::ranges::count(words, words.front()) != std::ssize(words)) return false;
  return assign("plan.cp_comm", words.front() == "all_gather" ? "all-gather" : words.front(), job);
}

/// GPT-NeoX's kinds of attention, each with how many layers have it: one kernel or products.
bool attention_of(Facts& job, const Words& words) {
  std::string attention;
  for (const std::string& word : words) {
    if (word == "all" || parse_integer(word)) continue;
    if (word != "flash" && word != "global") return false;
    const std::string kind = word == "flash" ? word : "fused-softmax";
    if (!attention.empty() && attention != kind) return false;
    attention = kind;
  }
  return assign("plan.attention", attention, job);
}

/// One number, or one for each layer that has experts.
bool experts_of(Facts& job, const Words& words) {
  std::int64_t most = 0;
  bool differ = false;
  for (const std::string& word : words) {
    const auto count = parse_integer(word);
    if (!count || *count < 0 || *count > (1LL << 20)) return false;
    differ = differ || (most > 0 && *count != most);
    most = std::max<std::int64_t>(most, *count);
  }
  if (words.empty()) return false;
  job.set_number("model.num_experts", most);
  if (differ) {
    job.report.left_out.push_back(
        fmt::format("--num-experts: differs from layer to layer; predicted with {} in each", most));
  }
  return true;
}

/// MindSpeed's layers of each stage: `4,5,5,6`.
bool layers_of_stages(Facts& job, const Words& words) {
  constexpr long long kMost = 1 << 12;
  std::string layout;
  for (const std::string& word : words) {
    const auto layers = parse_integer(word);
    if (!layers || *layers < 1 || *layers > kMost) return false;
    layout += fmt::format("{}t*{}", layout.empty() ? "E" : "|", *layers);
  }
  if (words.size() < 2 || words.size() > 1024) return false;
  job.set("plan.layout", layout + "L");
  return true;
}

/// Letters of sublayers; bars between them deal layers to pipeline chunks.
bool layer_pattern(Facts& job, const Words& words) {
  if (words.size() != 1) return false;
  const auto parsed = parse_layer_pattern(words.front());
  const auto* const pattern = std::get_if<LayerPattern>(&parsed);
  if (!pattern) return false;
  std::string letters = words.front();
  std::erase(letters, '|');
  job.set(kMixers + "layers_pattern", "\"" + letters + "\"");
  job.set_number("model.num_hidden_layers", std::ssize(pattern->layers));
  if (pattern->depths > 0) job.set_number("model.num_nextn_predict_layers", pattern->depths);
  if (pattern->chunks.size() == 1) return true;
  std::string layout;
  for (const std::int64_t layers : pattern->chunks) {
    layout += layout.empty() ? "E" : "|";
    if (layers > 0) layout += fmt::format("t*{}", layers);
  }
  job.set("plan.layout",
          layout + std::string(static_cast<std::size_t>(pattern->depths), 'm') + "L");
  return true;
}

/// Megatron's `--linear-attention-freq`: the last of every so many layers attends by softmax, or a
/// list with 1 for each that does not.
bool linear_attention(Facts& job, const Words& words) {
  std::string types;
  const auto add = [&](bool linear) {
    types += fmt::format("{}\"{}\"", types.empty() ? "" : ",",
                         linear ? "linear_attention" : "full_attention");
  };
  if (words.empty() || words.size() > 4096) return false;
  for (const std::string& word : words) {
    const auto number = parse_integer(word);
    if (!number || *number < 0 || *number > 4096 || (words.size() > 1 && *number > 1)) return false;
    if (words.size() > 1) {
      add(*number == 1);
      continue;
    }
    for (std::int64_t layer = 1; layer <= *number; ++layer) add(layer < *number);
  }
  job.set(kMixers + "layer_types", "[" + types + "]");
  return true;
}

/// Readers of whole lists, by their names in data/import/; false where a word is not known.
struct ListReader {
  std::string_view name;
  bool (*take)(Facts& job, const Words& words);
};
constexpr ListReader kListReaders[] = {
    {"layers_pattern", layer_pattern},      {"linear_attention", linear_attention},
    {"layers_of_stages", layers_of_stages}, {"experts", experts_of},
    {"context_comm", context_comm},         {"attention", attention_of}};

/// A field of words, of which those that are known count; of a mixer's size; or of a soft-cap.
bool take_field(const std::string& field, const std::string& flag, Facts& job, const Words& words) {
  if (field.starts_with("plan.")) {
    std::string known;
    for (const std::string& word : words) {
      Facts scratch;
      if (word != "none" && assign(field, word, scratch)) {
        known += (known.empty() ? "" : "+") + word;
      } else {
        job.report.left_out.push_back(
            fmt::format("{} {} is not known; predicted without it", flag, printable(word)));
      }
    }
    return (!known.empty() || words.empty()) && assign(field, known, job);
  }
  if (words.size() != 1) return false;
  if (field.starts_with("model.")) {
    const auto most = parse_number(words.front());
    return most && *most > 0 && *most < 1e6 && assign(field, words.front(), job);
  }
  const auto size = parse_integer(words.front());
  return size && *size >= 1 && *size <= (1LL << 24) && assign(field, std::to_string(*size), job);
}

}  // namespace

bool is_list_reader(const ForeignNames& names, std::string_view name) {
  const Facts scratch;
  return std::ranges::find(kListReaders, name, &ListReader::name) != std::end(kListReaders) ||
         name.starts_with("mixers.") || is_open(name, scratch) || names.value_rules.contains(name);
}

bool take_list(const std::string& name, const std::string& flag, const Words& words, Facts& job) {
  const auto* const reader = std::ranges::find(kListReaders, name, &ListReader::name);
  bool known = true;
  if (reader != std::end(kListReaders)) {
    known = reader->take(job, words);
  } else if (job.names->value_rules.contains(name)) {  // words that mean something alone
    for (const std::string& word : words) {
      if (read_by_rules(name, flag, word, job)) continue;
      job.report.left_out.push_back(
          fmt::format("{} {}: not known; predicted without it", flag, printable(word)));
    }
  } else {
    known = take_field(name, flag, job, words);
  }
  if (known) job.note(flag);
  return known;
}

namespace {

bool says_nothing(const std::string& value) {
  return value.empty() || switches_off(value);
}

void leave_out(Facts& job, const std::string& flag, const std::string& value,
               std::string_view why) {
  job.report.left_out.push_back(fmt::format("{} {}: {}", flag, printable(value), why));
}

void take_targets(const std::string& flag, const std::string& value, Facts& job) {
  if (says_nothing(value)) return;
  const WordSet<AdapterTarget> targets = named_targets(value);
  if (targets.empty()) {
    return leave_out(job, flag, value, "unknown modules; predicted with all");
  }
  (void)assign({"plan.lora_targets", Assignment::How::add, cell_of(targets)}, job);
}

/// Numbers of the layers with adapters, as PEFT lists them.
void take_listed_layers(const std::string& flag, const std::string& value, Facts& job) {
  if (says_nothing(value)) return;
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
  job.assume("plan.learning_layers", std::to_string(count),
             fmt::format("learning_layers {}: layers {} to {} are taken to be the last", count,
                         layers.front(), layers.back()));
}

}  // namespace

bool takes_objective_of(std::string_view program, Facts& job) {
  if (program.ends_with(".py")) program.remove_suffix(3);
  std::string words(program);
  std::ranges::replace_if(
      words, [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    if (read_by_rules("objective", "--stage", word, job)) return true;
  }
  return false;
}

bool take_tuning(std::string_view name, const std::string& flag, const std::string& value,
                 Facts& job) {
  if (name == "lora_targets") {
    take_targets(flag, value, job);
  } else if (name == "listed_layers") {
    take_listed_layers(flag, value.empty() ? "true" : value, job);
  } else {
    return false;
  }
  job.note(flag);
  return true;
}

}  // namespace prequel
