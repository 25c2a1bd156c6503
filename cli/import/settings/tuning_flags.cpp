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
#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"
#include "models/axes/adapter_targets.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostRank = 1 << 13;

bool says_nothing(const std::string& value) {
  return value.empty() || switches_off(value);
}

void leave_out(ImportedJob& job, const std::string& flag, const std::string& value,
               std::string_view why) {
  job.report.left_out.push_back(fmt::format("{} {}: {}", flag, printable(value), why));
}

void take_rank(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (says_nothing(value)) return;
  const auto rank = parse_integer(value);
  if (!rank || *rank < 1 || *rank > kMostRank) {
    return leave_out(job, flag, value, fmt::format("no rank from 1 to {}", kMostRank));
  }
  job.plan.lora_rank = *rank;
  if (!job.plan.tuning) job.plan.tuning = Tuning::lora;
}

void take_targets(const std::string& flag, const std::string& value, ImportedJob& job) {
  if (says_nothing(value)) return;
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
  job.plan.learning_layers = count;
  job.report.assumed.push_back(
      fmt::format("learning_layers {}: layers {} to {} are taken to be the "
                  "last",
                  count, layers.front(), layers.back()));
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

/// Readers of settings, by their names in data/import/.
struct TuningReader {
  std::string_view name;
  void (*take)(const std::string& flag, const std::string& value, ImportedJob& job);
  bool stands_alone = true;  ///< a flag without a value is a switch
};
constexpr TuningReader kTuningReaders[] = {{"lora_rank", take_rank, false},
                                           {"lora_targets", take_targets, false},
                                           {"last_layers", take_last_layers},
                                           {"listed_layers", take_listed_layers}};

}  // namespace

bool is_tuning_reader(std::string_view name) {
  return std::ranges::find(kTuningReaders, name, &TuningReader::name) != std::end(kTuningReaders);
}

bool take_tuning(const std::string& name, const std::string& flag, const std::string& said,
                 ImportedJob& job) {
  const auto* const reader = std::ranges::find(kTuningReaders, name, &TuningReader::name);
  if (reader == std::end(kTuningReaders)) return false;
  reader->take(flag, said.empty() && reader->stands_alone ? "true" : said, job);
  job.said.try_emplace(flag, 1);
  return true;
}

}  // namespace prequel
