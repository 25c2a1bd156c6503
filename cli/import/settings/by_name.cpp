#include "cli/import/settings/by_name.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

bool is_true(std::string_view value) {
  return value.empty() || value == "true" || value == "True" || value == "1" || value == "yes";
}

std::optional<Guess> number_by_name(const ForeignNames& names, const std::string& flag,
                                    const std::string& value) {
  constexpr long long kMost = 1LL << 24;
  constexpr long long kMostSequences = 1LL << 15;  // more are tokens
  constexpr long long kMostOfDevice = 1LL << 10;
  const std::string name = own_name(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  const auto of = [&](const std::string& field) {
    return Guess{field, std::to_string(*number), true, fmt::format("{} {}", flag, *number),
                 fmt::format("{} {}: {}", spoken(field), *number, flag)};
  };
  const std::string tokens = "batch_tokens";
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (*number == 0 && !has("zero")) return std::nullopt;
  if (const std::string* shape = names.shape_number(name)) {
    return has_part(name, names.words_of("of_parts")) ? std::nullopt : std::optional(of(*shape));
  }
  if (const auto known = names.numbers.find(name); known != names.numbers.end()) {
    return of(known->second);
  }
  if (has_part(name, names.words_of("of_others"))) return std::nullopt;
  const bool many = has("batch") && *number > kMostSequences;
  const bool of_device = has("micro") || has("per_");
  if (of_device && has("batch") && *number > kMostOfDevice) return std::nullopt;  // tokens
  if (many && (has("total") || has("global"))) return of(tokens);
  for (const NumberRule& rule : names.number_rules) {
    if (!std::ranges::all_of(rule.parts, has)) continue;
    const bool in_tokens = rule.field == tokens;
    if (!in_tokens && (has("token") || many)) return std::nullopt;
    return of(rule.field);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Guess> guess_by_name(const ForeignNames& names, const std::string& flag,
                                   const std::string& value) {
  if (auto number = number_by_name(names, flag, value)) return number;
  Facts asked;
  asked.set("name", own_name(flag));
  asked.set("value", lower_case(value));
  if (is_true(value)) asked.set_flag("on");
  const std::vector<Rule>* const rules = find_name(names.rules, "names");
  if (rules == nullptr) return std::nullopt;
  const auto rule =
      std::ranges::find_if(*rules, [&](const Rule& one) { return applies(one, asked); });
  if (rule == rules->end()) return std::nullopt;
  const Assignment& set = rule->set.front();
  const std::string said = value.empty() ? flag : flag + " " + value;
  return Guess{set.field, filled(set.value, asked), false, said, rule->told + ": " + said};
}

void take_by_names(Facts& job) {
  // Where the shape is known, a further number with such a name is not guessed.
  const bool known = job.has_shape() && job.says("model.num_attention_heads");
  std::ranges::stable_partition(job.guesses, [](const Guess& one) { return one.number; });
  for (const Guess& one : job.guesses) {
    const Count before = job.value(one.field);
    if (one.number && before && std::to_string(*before) == one.value) continue;
    if (one.number && !before && known && is_of_layers(one.field)) {
      job.report.left_out.push_back(
          one.said +
          ": unknown, but may change the model, its layout or its memory; predicted without it");
      continue;
    }
    // The launcher's own flags say more of the number of all devices.
    const bool launched = one.field == "devices" && (job.says("devices_per_node") ||
                                                     job.says("plan.nodes") || job.says("tasks"));
    if (!is_open(one.field, job) || launched) {
      job.report.ignored.push_back(one.said);
      continue;
    }
    const OriginScope from(job, one.origin);
    (void)assign(one.field, one.value, job);
    if (one.field == "model.num_hidden_layers" || one.field == "model.hidden_size") {
      job.set_flag("shape_by_name");
    }
    job.report.assumed.push_back(one.told + ", by its name");
  }
  job.guesses.clear();
  follow_rules("batch sizes", job);
}

std::string own_name(std::string_view entry) {
  entry = entry.substr(0, entry.find_first_of(" ="));
  if (entry.starts_with("--")) entry.remove_prefix(2);
  entry = entry.substr(entry.rfind('.') + 1);  // npos + 1 is 0
  std::string name = lower_case(std::string(entry));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool has_part(std::string_view name, const std::vector<std::string>& parts) {
  return std::ranges::any_of(
      parts, [&](const std::string& part) { return name.find(part) != std::string_view::npos; });
}

void tell_by_names(std::size_t first, Facts& job) {
  ImportReport& report = job.report;
  std::vector<std::string> others;
  for (std::size_t i = first; i < report.ignored.size(); ++i) {
    const std::string name = own_name(report.ignored[i]);
    const bool resolved = report.ignored[i].find("(not resolved)") == std::string::npos;
    if (resolved && has_part(name, job.names->words_of("telling")) &&
        !has_part(name, job.names->words_of("harmless"))) {
      report.left_out.push_back(fmt::format(
          "{}: unknown, but may change the model, its layout or its memory; predicted without it",
          report.ignored[i]));
    } else {
      others.push_back(std::move(report.ignored[i]));
    }
  }
  report.ignored.resize(std::min(first, report.ignored.size()));
  report.ignored.insert(report.ignored.end(), std::make_move_iterator(others.begin()),
                        std::make_move_iterator(others.end()));
}

}  // namespace prequel
