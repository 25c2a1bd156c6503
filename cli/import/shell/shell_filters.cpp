#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Words = std::vector<std::string>;

Words parts(std::string_view line, std::string_view between) {
  Words found;
  for (;;) {
    const std::size_t end = line.find(between);
    found.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return found;
    line.remove_prefix(end + between.size());
  }
}

Words lines_of(std::string_view text) {
  Words lines = parts(text, "\n");
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// A field of each line, counted from 1, of words or of what stands between signs; a line without
/// the sign is left as it is where `cuts`.
std::optional<std::string> fields(const std::string& text, const std::string& between,
                                  std::string_view number, bool cuts) {
  const auto field = parse_integer(number);
  if (between.size() != 1 || !field || *field < 1) return std::nullopt;
  Words lines = lines_of(text);
  for (std::string& line : lines) {
    Words all;
    if (between == " " && !cuts) {
      split_words(line, all);
    } else {
      all = parts(line, between);
    }
    const auto at = static_cast<std::size_t>(*field) - 1;
    if (!cuts || all.size() > 1) line = at < all.size() ? all[at] : std::string();
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::optional<std::string> cut(const std::string& text, const Words& command) {
  return fields(text, option_value(command, "-d").value_or("\t"),
                option_value(command, "-f").value_or(""), true);
}

/// `awk -F: '{print $2}'`.
std::optional<std::string> awk(const std::string& text, const Words& command) {
  std::string program = command.back();
  std::erase_if(program, is_shell_blank);
  constexpr std::string_view kPrint = "{print$";
  if (!program.starts_with(kPrint) || !program.ends_with('}')) return std::nullopt;
  program = program.substr(kPrint.size(), program.size() - kPrint.size() - 1);
  return fields(text, option_value(command, "-F").value_or(" "), program, false);
}

std::optional<char> letter(const std::string& set) {
  if (set == "\\n") return '\n';
  if (set == "\\t") return '\t';
  if (set == "[:space:]") return ' ';
  return set.size() == 1 ? std::optional(set[0]) : std::nullopt;
}

std::optional<std::string> tr(std::string text, const Words& command) {
  if (command.size() != 3) return std::nullopt;
  const std::string& set = command[1];
  if (set == "[:upper:]" || set == "A-Z" || set == "[A-Z]") return changed(text, ",,");
  if (set == "[:lower:]" || set == "a-z" || set == "[a-z]") return changed(text, "^^");
  const auto from = letter(set);
  const auto to = letter(command[2]);
  if (!to || (!from && set != "-d")) return std::nullopt;
  if (from) {
    std::ranges::replace(text, *from, *to);
  } else {
    std::erase(text, *to);
  }
  return text;
}

std::optional<std::string> wc(const std::string& text, const Words& command) {
  if (command.size() != 2) return std::nullopt;
  Words words;
  if (command[1] == "-l") words = lines_of(text);
  if (command[1] == "-w") split_words(text, words);
  const bool known = command[1] == "-l" || command[1] == "-w";
  return known ? std::optional(std::to_string(words.size())) : std::nullopt;
}

/// One line, the first or the last.
std::optional<std::string> one_line(const std::string& text, const Words& command) {
  const auto count = option_value(command, command.size() > 1 && command[1] == "-1" ? "-" : "-n");
  const Words lines = lines_of(text);
  if (count != "1" || command.size() > 3 || lines.empty()) return std::nullopt;
  return command.front() == "head" ? lines.front() : lines.back();
}

/// `s/WORD/OTHER/g` of a word without a pattern.
std::optional<std::string> sed(const std::string& text, const Words& command) {
  if (command.size() != 2 || command[1].size() < 4 || command[1][0] != 's') return std::nullopt;
  const Words all = parts(std::string_view(command[1]).substr(2), command[1].substr(1, 1));
  if (all.size() != 3 || all[0].empty() || (all[2] != "g" && !all[2].empty())) return std::nullopt;
  if (all[0].find_first_of(".*[]^$\\+?(){}|&") != std::string::npos) return std::nullopt;
  Words lines = lines_of(text);
  for (std::string& line : lines) {
    Words pieces = parts(line, all[0]);
    if (pieces.size() > 1) pieces[1] = pieces[0] + all[1] + pieces[1];
    const std::string& between = all[2].empty() ? all[0] : all[1];
    if (pieces.size() > 1)
      line = fmt::format("{}", fmt::join(std::span(pieces).subspan(1), between));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::optional<std::string> same(const std::string& text, const Words& command) {
  return command.size() == 1 ? std::optional(text) : std::nullopt;
}

std::optional<std::string> calculated(const std::string& text, const Words& command) {
  return command.size() == 1 ? shell_number(text) : std::nullopt;
}

struct Filter {
  std::string_view program;
  std::optional<std::string> (*output)(const std::string& text, const Words& command);
};
constexpr Filter kFilters[] = {
    {"cut", cut},
    {"awk", awk},
    {"wc", wc},
    {"head", one_line},
    {"tail", one_line},
    {"sed", sed},
    {"tr", [](const std::string& text, const Words& command) { return tr(text, command); }},
    {"xargs", same},
    {"bc", calculated},
};

}  // namespace

std::optional<std::string> filtered(const std::string& text, const Words& command) {
  const auto* const found = std::ranges::find(
      kFilters, command.empty() ? std::string_view() : command.front(), &Filter::program);
  return found == std::end(kFilters) ? std::nullopt : found->output(text, command);
}

std::optional<std::string> printed_text(std::span<const std::string> words) {
  const std::string format = words.empty() ? std::string() : words.front();
  auto values = words.subspan(words.empty() ? 0 : 1);
  std::string text;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::string_view rest = std::string_view(format).substr(at, 2);
    if (rest == "%s" || rest == "%d") {
      if (!values.empty()) text += values.front();
      values = values.subspan(values.empty() ? 0 : 1);
    } else if (rest[0] == '%') {
      return std::nullopt;
    } else {
      text += rest == "\\n" ? '\n' : rest[0];
    }
    at += rest == "%s" || rest == "%d" || rest == "\\n" ? 1 : 0;
    const bool again = at + 1 == format.size() && !values.empty() && format.find('%') < at;
    if (again) at = std::string::npos;  // as long as there are values
  }
  return values.empty() ? std::optional(text) : std::nullopt;
}

std::optional<std::string> said(const Words& command) {
  std::span<const std::string> words = std::span(command).subspan(1);
  if (command.front() == "printf") return printed_text(words);
  const bool echoes = command.front() == "echo";
  const bool brief = !words.empty() && words[0].size() > 1 && words[0][0] == '-' &&
                     words[0].find_first_not_of("neE", 1) == std::string::npos;
  if (echoes && brief) words = words.subspan(1);
  const std::string text = in_one_line(words);
  return echoes ? std::optional(text) : shell_number(text);
}

}  // namespace prequel
