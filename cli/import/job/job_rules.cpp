#include "cli/import/job/job_rules.hpp"

#include <algorithm>
#include <utility>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

/// Tests whether a text has this part; at its begin behind `^`, at its end before `$`.
bool has_part(std::string_view text, std::string_view part) {
  if (part.starts_with('^')) return text.starts_with(part.substr(1));
  if (part.ends_with('$')) return text.ends_with(part.substr(0, part.size() - 1));
  return text.find(part) != std::string_view::npos;
}

/// Tests one alternative.
bool is_so(std::string_view text, const Facts& job) {
  if (text.starts_with('!')) return !is_so(text.substr(1), job);
  if (text.find('{') != std::string_view::npos) {
    return shell_arithmetic(filled(text, job)).value_or(0) != 0;
  }
  const std::size_t at = text.find_first_of("=>~");
  if (at == std::string_view::npos) return text_of(text, job).has_value();
  const bool differs = text[at] == '=' && text[at - 1] == '!';
  const std::string_view name = text.substr(0, differs ? at - 1 : at);
  const std::string word(text.substr(at + 1));
  const std::string left = text_of(name, job).value_or(text[at] == '>' ? std::string(name) : "");
  const std::string right = text_of(word, job).value_or(word);
  if (text[at] == '=') return (left == right) != differs;
  if (text[at] == '~') return has_part(lower_case(left), right);
  const auto more = parse_number(left);
  const auto less = parse_number(right);
  return more && less && *more > *less;
}

const std::vector<Rule>& rules_of(std::string_view step, const Facts& job) {
  static const std::vector<Rule> none;
  const std::vector<Rule>* const rules = find_name(job.names->rules, step);
  return rules == nullptr ? none : *rules;
}

}  // namespace

bool holds(std::string_view condition, const Facts& job) {
  while (true) {
    const std::size_t end = std::min(condition.find('|'), condition.size());
    if (is_so(condition.substr(0, end), job)) return true;
    if (end == condition.size()) return false;
    condition.remove_prefix(end + 1);
  }
}

bool applies(const Rule& rule, const Facts& job) {
  const auto is = [&](const std::string& condition) { return holds(condition, job); };
  return std::ranges::all_of(rule.when, is) && std::ranges::none_of(rule.unless, is);
}

namespace {

/// Sets the fields of a rule and adds its line to the report.
/// Throws InputError where the rule refuses.
void follow(const Rule& rule, Facts& job, const std::string& said = {}) {
  if (rule.line == Line::refused) throw InputError(filled(rule.told, job));
  if (rule.told.empty()) return take_effect(rule.set, job, said);
  OriginScope from(job,
                   {rule.line == Line::assumed ? Sureness::assumed : Sureness::follows, {}, {}});
  take_effect(rule.set, job, said);
  std::string line = filled(rule.told, job);
  from.tell(line);
  ImportReport& report = job.report;
  std::vector<std::string>& lines = rule.line == Line::assumed   ? report.assumed
                                    : rule.line == Line::read    ? report.read
                                    : rule.line == Line::ignored ? report.ignored
                                                                 : report.left_out;
  lines.push_back(std::move(line));
}

}  // namespace

void follow_rules(std::string_view step, Facts& job) {
  for (const Rule& rule : rules_of(step, job)) {
    if (applies(rule, job)) follow(rule, job);
  }
}

bool switches_off(const std::string& value) {
  constexpr std::string_view kOff[] = {"false", "0", "none", "null", "no"};
  return std::ranges::find(kOff, lower_case(value)) != std::end(kOff);
}

bool read_by_rules(std::string_view reader, const std::string& flag, const std::string& said,
                   Facts& job) {
  const std::vector<Rule>* const rules = find_name(job.names->value_rules, reader);
  if (rules == nullptr) return false;
  const std::string value = said.empty() ? "true" : said;
  const std::map<std::string, std::string> facts{{"flag", flag},
                                                 {"value", value},
                                                 {"word", lower_case(value)},
                                                 {switches_off(value) ? "off" : "on", "true"}};
  for (const auto& [name, text] : facts) job.set(name, text);
  const auto rule =
      std::ranges::find_if(*rules, [&](const Rule& one) { return applies(one, job); });
  if (rule != rules->end()) {
    follow(*rule, job, said);
    job.note(flag);
  }
  for (const auto& [name, text] : facts) job.drop(name);
  return rule != rules->end();
}

std::vector<std::string> lines_of_rules(std::string_view step, const Facts& job) {
  std::vector<std::string> lines;
  for (const Rule& rule : rules_of(step, job)) {
    if (applies(rule, job)) lines.push_back(filled(rule.told, job));
  }
  return lines;
}

}  // namespace prequel
