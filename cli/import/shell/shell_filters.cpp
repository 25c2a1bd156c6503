#include "cli/import/shell/shell_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Words = std::vector<std::string>;

/// The value of `-d X` or `-dX`.
std::optional<std::string> option(const Words& command, std::string_view name) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == name && i + 1 < command.size()) return command[i + 1];
    if (command[i].starts_with(name) && command[i].size() > name.size()) {
      return command[i].substr(name.size());
    }
  }
  return std::nullopt;
}

Words lines_of(std::string_view text) {
  Words lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Each line as the function makes it.
template <class Change>
std::optional<std::string> each_line(const std::string& text, const Change& change) {
  std::string all;
  for (const std::string& line : lines_of(text)) {
    const std::optional<std::string> changed = change(line);
    if (!changed) return std::nullopt;
    all += (all.empty() ? "" : "\n") + *changed;
  }
  return all;
}

Words parts(std::string_view line, char between) {
  Words found;
  for (;;) {
    const std::size_t end = line.find(between);
    found.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return found;
    line.remove_prefix(end + 1);
  }
}

std::optional<std::string> cut(const std::string& text, const Words& command) {
  const std::string between = option(command, "-d").value_or("\t");
  const auto field = parse_integer(option(command, "-f").value_or(""));
  if (between.size() != 1 || !field || *field < 1) return std::nullopt;
  return each_line(text, [&](const std::string& line) -> std::optional<std::string> {
    const Words all = parts(line, between[0]);
    if (all.size() == 1) return line;
    const auto at = static_cast<std::size_t>(*field) - 1;
    return at < all.size() ? all[at] : std::string();
  });
}

/// `awk -F: '{print $2}'`.
std::optional<std::string> awk(const std::string& text, const Words& command) {
  std::string program = command.back();
  std::erase_if(program, is_shell_blank);
  constexpr std::string_view kPrint = "{print$";
  if (!program.starts_with(kPrint) || !program.ends_with('}')) return std::nullopt;
  const auto field =
      parse_integer(program.substr(kPrint.size(), program.size() - kPrint.size() - 1));
  const std::string between = option(command, "-F").value_or(" ");
  if (!field || *field < 1 || between.size() != 1) return std::nullopt;
  return each_line(text, [&](const std::string& line) -> std::optional<std::string> {
    Words all;
    if (between == " ") {
      split_words(line, all);
    } else {
      all = parts(line, between[0]);
    }
    const auto at = static_cast<std::size_t>(*field) - 1;
    return at < all.size() ? all[at] : std::string();
  });
}

std::optional<char> letter(const std::string& set) {
  if (set == "\\n") return '\n';
  if (set == "\\t") return '\t';
  if (set == "[:space:]") return ' ';
  return set.size() == 1 ? std::optional(set[0]) : std::nullopt;
}

std::optional<std::string> tr(std::string text, const Words& command) {
  if (command.size() != 3) return std::nullopt;
  const bool lower = command[1] == "[:upper:]" || command[1] == "A-Z" || command[1] == "[A-Z]";
  const bool upper = command[1] == "[:lower:]" || command[1] == "a-z" || command[1] == "[a-z]";
  if (lower || upper) {
    std::ranges::transform(text, text.begin(), [&](unsigned char c) {
      return static_cast<char>(lower ? std::tolower(c) : std::toupper(c));
    });
    return text;
  }
  const auto to = letter(command[2]);
  if (!to) return std::nullopt;
  if (command[1] == "-d") {
    std::erase(text, *to);
    return text;
  }
  const auto from = letter(command[1]);
  if (!from) return std::nullopt;
  std::ranges::replace(text, *from, *to);
  return text;
}

std::optional<std::string> wc(const std::string& text, const Words& command) {
  if (command.size() != 2) return std::nullopt;
  if (command[1] == "-l") return std::to_string(lines_of(text).size());
  Words words;
  split_words(text, words);
  return command[1] == "-w" ? std::optional(std::to_string(words.size())) : std::nullopt;
}

/// One line, the first or the last.
std::optional<std::string> end_of(const std::string& text, const Words& command, bool first) {
  const bool one = command.size() == 2
                       ? command[1] == "-1" || command[1] == "-n1"
                       : command.size() == 3 && command[1] == "-n" && command[2] == "1";
  const Words lines = lines_of(text);
  if (!one || lines.empty()) return std::nullopt;
  return first ? lines.front() : lines.back();
}

/// `s/WORD/OTHER/g` of a word without a pattern.
std::optional<std::string> sed(const std::string& text, const Words& command) {
  if (command.size() != 2 || command[1].size() < 4 || command[1][0] != 's') return std::nullopt;
  const Words all = parts(std::string_view(command[1]).substr(2), command[1][1]);
  if (all.size() != 3 || all[0].empty() || (all[2] != "g" && !all[2].empty())) return std::nullopt;
  if (all[0].find_first_of(".*[]^$\\+?(){}|&") != std::string::npos) return std::nullopt;
  return each_line(text, [&](const std::string& line) -> std::optional<std::string> {
    std::string changed;
    std::size_t begin = 0;
    for (std::size_t at = line.find(all[0]); at != std::string::npos;
         at = line.find(all[0], begin)) {
      changed += line.substr(begin, at - begin) + all[1];
      begin = at + all[0].size();
      if (all[2].empty()) break;
    }
    return changed + line.substr(begin);
  });
}

}  // namespace

std::optional<std::string> filtered(const std::string& text,
                                    const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const std::string& program = command.front();
  if (program == "cut") return cut(text, command);
  if (program == "awk") return awk(text, command);
  if (program == "tr") return tr(text, command);
  if (program == "wc") return wc(text, command);
  if (program == "head") return end_of(text, command, true);
  if (program == "tail") return end_of(text, command, false);
  if (program == "sed") return sed(text, command);
  if (program == "xargs" && command.size() == 1) return text;
  return std::nullopt;
}

}  // namespace prequel
