#include "cli/import/shell/script_reader.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cli/import/shell/launchers.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Where the `{` at `at` ends; those inside it count.
std::size_t closing_brace(std::string_view text, std::size_t at) {
  int open = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++open;
    if (text[at] == '}' && --open == 0) return at;
  }
  return std::string_view::npos;
}

/// Returns the name of an unknown command, which stands for its output; its words are none of the
/// script's.
std::string in_one_word(std::string_view text, char end) {
  const std::size_t blank = text.find_first_of(" \t\n");
  if (blank == std::string_view::npos) return std::string(text);
  return fmt::format("{}...{}", text.substr(0, blank), end);
}

}  // namespace

std::pair<std::string, bool> ScriptReader::word(std::string_view text, std::size_t& at) {
  std::string value;
  bool quoted = false;
  char quote = '\0';
  while (at < text.size()) {
    const char c = text[at];
    if (quote == '\0' &&
        (is_shell_blank(c) || std::string_view(";|&<>()").find(c) != std::string_view::npos)) {
      break;
    }
    if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
      quote = c == quote ? '\0' : c;
      quoted = true;
      ++at;
    } else if (c == '\\' && quote != '\'') {
      if (at + 1 < text.size() && text[at + 1] != '\n') value += text[at + 1];
      at += std::min<std::size_t>(2, text.size() - at);
    } else if (c == '$' && quote != '\'') {
      value += expansion(text, at);
    } else if (c == '`' && quote != '\'') {
      value += backticks(text, at);
    } else {
      value += c;
      ++at;
    }
  }
  spend(value.size());
  return {keeps_elements_ ? value : with_blanks(std::move(value)), quoted};
}

std::optional<std::string> ScriptReader::substitution(std::string_view inside) {
  constexpr std::string_view kExpr = "expr ";
  constexpr std::string_view kEcho = "echo ";
  inside = trimmed(inside);
  if (braces_ >= kMostNested) return std::nullopt;
  if (auto nodes = counted_nodes(inside)) return nodes;
  if (auto piped = through_filters(inside)) return piped;
  if (inside.starts_with("cat ") || inside.starts_with("cat<")) return printed_document(inside);
  const bool expr = inside.starts_with(kExpr);
  if (!expr && !inside.starts_with(kEcho))
    return may_print(inside) ? printed_by(inside) : std::nullopt;
  std::string_view rest = trimmed(inside.substr(kExpr.size()));
  const std::size_t pipe = rest.find('|');
  const bool calculates =
      expr || (pipe != std::string_view::npos && trimmed(rest.substr(pipe + 1)) == "bc");
  if (!expr && calculates) rest = rest.substr(0, pipe);
  if (!calculates &&
      (rest.find_first_of("|;&<>") != std::string_view::npos || rest.starts_with('-'))) {
    return printed_by(inside);
  }
  std::string text = expanded(rest);
  if (calculates) {
    std::erase(text, '\\');
    const auto value = shell_arithmetic(text);
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  }
  const bool flags = text.find(" --") != std::string::npos;  // of which some may be known
  if (text.find_first_of(flags ? "`\\" : "$`\\") != std::string::npos) return std::nullopt;
  return text;
}

std::optional<std::string> ScriptReader::counted_nodes(std::string_view inside) const {
  const auto has = [&](std::string_view part) {
    return inside.find(part) != std::string_view::npos;
  };
  const bool listed =
      has("NODEFILE") || has("HOSTFILE") || has("NODELIST") || has("hostnames") || has("NODEINF");
  const auto nodes = state_.variables.find("SLURM_JOB_NUM_NODES");
  if (!listed || !has("wc -l") || nodes == state_.variables.end()) return std::nullopt;
  return nodes->second;
}

std::optional<std::string> ScriptReader::through_filters(std::string_view inside) {
  if (inside.find('\n') != std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> commands = piped_commands(inside);
  const std::size_t sign = commands.front().find(kHereString);
  const bool given = sign != std::string_view::npos;
  const bool echoes =
      commands.front().starts_with("echo ") || commands.front().starts_with("printf ");
  if (!given && (!echoes || commands.size() < 2)) return std::nullopt;
  std::optional<std::string> text;
  if (given) {
    text = expanded(trimmed(commands.front().substr(sign + kHereString.size())));
    commands.front() = commands.front().substr(0, sign);
  } else {
    text = substitution(commands.front());
    commands.erase(commands.begin());
  }
  for (const std::string_view one : commands) {
    if (!text || text->find_first_of("$`") != std::string::npos) return std::nullopt;
    std::vector<std::string> command;
    for (std::size_t at = 0; at < one.size();) {
      if (is_shell_blank(one[at])) {
        ++at;
        continue;
      }
      const std::size_t before = at;
      command.push_back(word(one, at).first);
      if (at == before) return std::nullopt;
    }
    spend(text->size() + 16);
    text = filtered(*text, command);
  }
  return text;
}

bool ScriptReader::may_print(std::string_view text) const {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const std::size_t end = text.find_first_of(" \t\n;");
  return state_.functions.contains(text.substr(0, end)) || has("echo ") || has("printf ");
}

void ScriptReader::print(const std::vector<std::string>& command) {
  const bool format = program_of(command) == "printf";
  for (auto value = command.begin() + 1; value < command.end(); ++value) {
    const bool first = value == command.begin() + 1;
    const bool directive = value->find('%') != std::string::npos;
    if (format && first && directive) {
      std::string rest = *value;
      std::erase_if(rest, [](char c) { return is_shell_blank(c) || c == '%' || c == 's'; });
      opaque_ = opaque_ || !(rest.empty() || rest == "\\n" || rest == "n");
    } else if (!(first && value->starts_with('-') && !value->starts_with("--"))) {
      split_words(*value, result_.words);
    }
  }
}

std::string ScriptReader::backticks(std::string_view text, std::size_t& at) {
  const std::size_t end = text.find('`', at + 1);
  if (end == std::string_view::npos) return std::string(text.substr(at++, 1));
  const std::string_view inside = text.substr(at + 1, end - at - 1);
  at = end + 1;
  if (const auto value = substitution(inside)) return *value;
  return in_one_word(fmt::format("`{}`", inside), '`');
}

std::optional<std::string> ScriptReader::printed_document(std::string_view inside) {
  const std::size_t sign = inside.find("<<");
  const std::size_t line = inside.find('\n');
  if (sign == std::string_view::npos || line == std::string_view::npos || sign > line) {
    return std::nullopt;
  }
  std::string delimiter(trimmed(inside.substr(sign + 2, line - sign - 2)));
  std::erase_if(delimiter, [](char c) { return !is_name_letter(c); });
  const std::size_t end = inside.rfind("\n" + delimiter);
  if (delimiter.empty() || end == std::string_view::npos || end < line) return std::nullopt;
  return expanded(inside.substr(line + 1, end - line));
}

std::string ScriptReader::expanded(std::string_view text) {
  if (braces_ >= kMostNested) return std::string(text);
  ++braces_;
  std::string value;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$') {
      value += expansion(text, at);
    } else if (text.substr(at, 2) == "\\\n") {
      at += 2;  // the line goes on
    } else {
      if (text[at] != '"' && text[at] != '\'') value += text[at];
      ++at;
    }
  }
  --braces_;
  spend(value.size());
  return with_blanks(std::move(value));
}

std::string ScriptReader::expansion(std::string_view text, std::size_t& at) {
  const std::size_t begin = at++;
  if (text.substr(at, 2) == "((") {
    const std::size_t end = end_of_arithmetic(text, at);
    if (end == std::string_view::npos) return "$";
    const std::string inside = with_numbers(text.substr(at + 2, end - at - 4));
    at = end;
    if (const auto value = shell_arithmetic(inside)) return std::to_string(*value);
  } else if (at < text.size() && text[at] == '[') {
    const std::size_t end = text.find(']', at);
    if (end == std::string_view::npos) return "$";
    const std::string inside = with_numbers(text.substr(at + 1, end - at - 1));
    at = end + 1;
    if (const auto value = shell_arithmetic(inside)) return std::to_string(*value);
  } else if (at < text.size() && text[at] == '(') {
    std::size_t end = end_of_brackets(text, at);
    if (end == std::string_view::npos) end = std::min(text.find(')', at), text.size() - 1) + 1;
    spend(end - at);
    const std::string_view inside = text.substr(at + 1, end - at - 1);
    at = end;
    if (const auto value = substitution(inside.substr(0, inside.rfind(')')))) return *value;
    return in_one_word(text.substr(begin, at - begin), ')');
  } else if (at < text.size() && text[at] == '{') {
    const std::size_t end = closing_brace(text, at);
    if (end == std::string_view::npos) return "$";
    const std::string_view inside = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (const auto value = of_braces(inside)) return *value;
  } else if (at < text.size() && std::string_view("#@*").find(text[at]) != std::string_view::npos) {
    const char sign = text[at++];
    if (state_.arguments && sign == '#') return std::to_string(state_.arguments->size());
    if (state_.arguments) return spent(fmt::format("{}", fmt::join(*state_.arguments, " ")));
  } else {
    const std::size_t name = at;
    while (at < text.size() && is_name_letter(text[at])) ++at;
    if (const auto known = value_of(text.substr(name, at - name))) return spent(*known);
  }
  return std::string(text.substr(begin, at - begin));
}

std::optional<std::string> ScriptReader::value_of(std::string_view name) {
  const auto number = parse_integer(std::string(name));
  if (number && *number > 0) {
    if (!state_.arguments) return std::nullopt;
    const auto at = static_cast<std::size_t>(*number) - 1;
    return at < state_.arguments->size() ? (*state_.arguments)[at] : std::string();
  }
  const auto known = state_.variables.find(name);
  if (known == state_.variables.end()) return std::nullopt;
  state_.used.insert(known->first);
  return known->second;
}

std::optional<std::string> ScriptReader::of_braces(std::string_view inside) {
  if (inside.starts_with('!') && is_variable_name(inside.substr(1))) {
    const auto name = value_of(inside.substr(1));
    return name && is_variable_name(*name) ? value_of(*name) : std::nullopt;
  }
  if (inside.starts_with('#') && inside.size() > 1) return length_of(inside.substr(1));
  std::size_t length = 0;
  while (length < inside.size() && is_name_letter(inside[length])) ++length;
  std::string_view rest = inside.substr(length);
  const std::string name(inside.substr(0, length));
  auto known = value_of(name);
  if (rest.starts_with('[')) {
    const std::size_t close = std::min(rest.find(']'), rest.size() - 1) + 1;
    if (known) known = changed(*known, expanded(rest.substr(0, close)));
    rest = rest.substr(close);
  }
  if (known) spend(known->size());
  const std::size_t sign = rest.starts_with(':') ? 1 : 0;
  const bool set_to_text = known && (sign == 0 || !known->empty());
  if (rest.empty()) return known;
  switch (rest.size() > sign ? rest[sign] : ' ') {
    case '-':
    case '=': {
      if (set_to_text) return known;
      std::string value = expanded(rest.substr(sign + 1));
      if (!value.empty()) defaults_.emplace(name, value);
      if (rest[sign] == '=') set(name, value);
      return value;
    }
    case '+':
      if (!known) return std::nullopt;
      return set_to_text ? expanded(rest.substr(sign + 1)) : std::string();
    case '?': return set_to_text ? known : std::nullopt;
    default: return known ? changed(*known, expanded(rest)) : std::nullopt;
  }
}

std::optional<std::string> ScriptReader::length_of(std::string_view name) {
  const bool array = name.ends_with("[@]") || name.ends_with("[*]");
  if (array) name.remove_suffix(3);
  const auto known = is_variable_name(name) ? value_of(name) : std::nullopt;
  if (!known || known->find('$') != std::string::npos) return std::nullopt;
  if (!array) return std::to_string(known->size());
  std::vector<std::string> words;
  split_words(*known, words);
  return std::to_string(words.size());
}

std::string ScriptReader::spent(const std::string& value) {
  spend(value.size());
  return value;
}

std::string ScriptReader::with_numbers(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$') {
      out += expansion(text, at);
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_name_letter(text[at])) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    const bool number = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    const auto known = number ? std::nullopt : value_of(name);
    out += known ? spent(*known) : std::string(name);
    if (at == begin && text[at++] != '"') out += text[begin];
  }
  return out;
}

std::string ScriptReader::number_of(std::string_view text) {
  const std::string numbers = with_numbers(text);
  if (const auto value = shell_arithmetic(numbers)) return std::to_string(*value);
  std::string open = fmt::format("$(({}))", text);
  std::erase_if(open, is_shell_blank);
  return open;
}

std::optional<std::string> ScriptReader::assigned_number(std::string_view text) {
  const auto found = arithmetic_assignment(text);
  if (!found) return std::nullopt;
  return found->name + "=" + number_of(found->value);
}

void ScriptReader::array(std::string_view text, std::size_t& at, std::string& value) {
  while (at < text.size() && text[at] != ')') {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (is_shell_blank(text[at]) ||
               (text[at] == '\\' && at + 1 < text.size() && is_shell_blank(text[at + 1]))) {
      at += text[at] == '\\' ? 2 : 1;
    } else {
      const std::size_t before = at;
      auto [one, quoted] = word(text, at);
      if (quoted && !is_list(text.substr(before, at - before))) {
        std::replace_if(one.begin(), one.end(), is_shell_blank, kBlankInside);
      }
      value += one + " ";
      if (at == before) ++at;
    }
  }
  if (at < text.size()) ++at;
}

}  // namespace prequel
