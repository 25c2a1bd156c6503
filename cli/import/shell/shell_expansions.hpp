#pragma once

/// Words of a launch script with what stands for their `$…`, as far as that is known.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/shell/shell_environment.hpp"
#include "cli/import/shell/shell_syntax.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"

namespace prequel {

class ShellExpansions {
 public:
  ShellExpansions(const std::string& file, const ShellState& before, const Choices& choices)
      : env_(file, before, choices) {}
  virtual ~ShellExpansions() = default;
  ShellExpansions(const ShellExpansions&) = delete;
  ShellExpansions& operator=(const ShellExpansions&) = delete;

 protected:
  using Words = std::vector<std::string>;
  using Arguments = std::optional<Words>;

  static constexpr int kMostNested = 8;

  std::vector<std::string> words_of(const std::vector<ShellWord>& words) {
    Words all;
    for (const ShellWord& word : words) {
      if (word.arithmetic) {
        add_arithmetic(word.text(), all);
        continue;
      }
      std::string value = value_of(word);
      if (word.whole || assigned_length(value) > 0 || is_element(value)) {
        all.push_back(std::move(value));
      } else {
        split_words(value, all);
      }
    }
    return all;
  }

  std::string value_of(const ShellWord& word) {
    std::string value;
    for (const WordPart& part : word.parts) {
      value += part.expands ? expansion(part.text) : part.text;
    }
    for (const ShellWord& one : word.elements) {
      std::string element = value_of(one);
      if (one.whole) std::replace_if(element.begin(), element.end(), is_shell_blank, kBlankInside);
      value += element + " ";
    }
    env_.spend(value.size());
    return keeps_elements_ || !word.elements.empty() ? value : with_blanks(std::move(value));
  }

  /// `((…))` as a test of its value, or as an assignment.
  void add_arithmetic(const std::string& text, Words& words) {
    if (auto word = assigned_number(text)) return words.push_back(std::move(*word));
    words.insert(words.end(), {"[", number_or_text(text), "-ne", "0", "]"});
  }

  /// Returns the value of one `$…` or of backticks; the text itself where nothing is known.
  std::string expansion(std::string_view text) {
    const auto inside = [&](std::size_t front, std::size_t back) {
      return text.substr(front, text.size() - front - back);
    };
    std::optional<std::string> value;
    const char sign = text.size() < 2 ? '\0' : text[0] == '`' ? '`' : text[1];
    if (sign == '\0') {
      return std::string(text);
    } else if (sign == '`' || (sign == '(' && !(text.starts_with("$((") && text.ends_with("))")))) {
      env_.spend(text.size() - 1);
      value = substitution(sign == '`' ? inside(1, 1) : text.substr(2, text.rfind(')') - 2));
      if (!value) return in_one_word(text);
    } else if (sign == '(') {
      value = number_of(inside(3, 2));
    } else if (sign == '[') {
      value = number_of(inside(2, 1));
    } else if (sign == '{') {
      value = of_braces(inside(2, 1));
    } else if (sign == '#' || sign == '@' || sign == '*') {
      const Arguments& all = state().arguments;
      if (all) {
        value = sign == '#' ? std::to_string(all->size()) : in_one_line(*all);
      }
    } else {
      value = variable(text.substr(1));
    }
    if (!value) return std::string(text);
    env_.spend(value->size());
    return std::move(*value);
  }

  /// A text with what its `$…` stand for; the rest of it as `change` makes it.
  template <class Change>
  std::string filled(std::string_view text, const Change& change) {
    std::string all;
    while (!text.empty()) {
      const std::size_t sign = std::min(text.find('$'), text.size());
      all += change(text.substr(0, sign));
      text.remove_prefix(sign);
      const std::size_t end = text.empty() ? 0 : end_of_expansion(text, 0);
      if (end > 0) all += expansion(text.substr(0, end));
      text.remove_prefix(end);
    }
    return all;
  }

  /// The same, without quotes.
  std::string expanded(std::string_view text) {
    if (expansions_ >= kMostNested) return std::string(text);
    ++expansions_;
    std::string value = filled(text, [](std::string_view one) {
      std::string plain(one);
      for (std::size_t at = plain.find("\\\n"); at != std::string::npos;
           at = plain.find("\\\n", at))
        plain.erase(at, 2);  // the line goes on
      std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
      return plain;
    });
    --expansions_;
    env_.spend(value.size());
    return with_blanks(std::move(value));
  }

  /// Returns the value of a variable, or of an argument where those are known: empty beyond the
  /// last.
  std::optional<std::string> variable(std::string_view name) {
    if (const auto number = parse_integer(name); number && *number > 0) {
      if (!state().arguments) return std::nullopt;
      const auto at = static_cast<std::size_t>(*number) - 1;
      return at < state().arguments->size() ? (*state().arguments)[at] : std::string();
    }
    const std::string* known = env_.known(name);
    if (known == nullptr) return std::nullopt;
    state().used.emplace(name);
    return *known;
  }

  /// Returns the value of `${NAME}`, `${NAME:-default}`, `${NAME:=default}`, `${NAME:+other}`,
  /// `${NAME[1]}`, `${#NAME}`, `${!NAME}` or `${NAME%%-*}`.
  std::optional<std::string> of_braces(std::string_view inside) {
    if (inside.starts_with('!') && is_variable_name(inside.substr(1))) {
      const auto name = variable(inside.substr(1));
      return name && is_variable_name(*name) ? variable(*name) : std::nullopt;
    }
    if (inside.starts_with('#') && inside.size() > 1) return length_of(inside.substr(1));
    const std::string name(inside.substr(0, name_length(inside)));
    std::string_view rest = inside.substr(name.size());
    auto known = variable(name);
    if (rest.starts_with('[')) {
      const std::size_t close = std::min(rest.find(']'), rest.size() - 1) + 1;
      if (known) known = changed(*known, expanded(rest.substr(0, close)));
      rest = rest.substr(close);
    }
    if (known) env_.spend(known->size());
    const std::size_t sign = rest.starts_with(':') ? 1 : 0;
    const bool set_to_text = known && (sign == 0 || !known->empty());
    if (rest.empty()) return known;
    switch (rest.size() > sign ? rest[sign] : ' ') {
      case '-':
      case '=': {
        if (set_to_text) return known;
        std::string value = expanded(rest.substr(sign + 1));
        if (!value.empty()) defaults_.emplace(name, value);
        if (rest[sign] == '=') env_.set(name, value);
        return value;
      }
      case '+':
        if (!known) return std::nullopt;
        return set_to_text ? expanded(rest.substr(sign + 1)) : std::string();
      case '?': return set_to_text ? known : std::nullopt;
      default: return known ? changed(*known, expanded(rest)) : std::nullopt;
    }
  }

  /// `${#NAME}`: letters; `${#NAME[@]}`: words.
  std::optional<std::string> length_of(std::string_view name) {
    const bool array = name.ends_with("[@]") || name.ends_with("[*]");
    if (array) name.remove_suffix(3);
    const auto known = is_variable_name(name) ? variable(name) : std::nullopt;
    if (!known || known->find('$') != std::string::npos) return std::nullopt;
    if (!array) return std::to_string(known->size());
    Words words;
    split_words(*known, words);
    return std::to_string(words.size());
  }

  /// The value of `$((…))`, inside of which variables stand with or without their `$`.
  std::optional<std::string> number_of(std::string_view text) {
    return shell_number(filled(text, [this](std::string_view one) {
      std::string out;
      while (!one.empty()) {
        const std::string_view name = one.substr(0, std::max<std::size_t>(name_length(one), 1));
        const auto known =
            std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? std::nullopt : variable(name);
        if (known) env_.spend(known->size());
        if (name != "\"") out += known ? *known : name;
        one.remove_prefix(name.size());
      }
      return out;
    }));
  }

  /// The same; what is not known stays as `$((…))` without blanks.
  std::string number_or_text(const std::string& text) {
    std::string unknown = fmt::format("$(({}))", text);
    std::erase_if(unknown, is_shell_blank);
    return number_of(text).value_or(unknown);
  }

  /// `A = B * 2` as `A=8`.
  std::optional<std::string> assigned_number(std::string_view text) {
    const auto found = arithmetic_assignment(text);
    if (!found) return std::nullopt;
    return found->name + "=" + number_or_text(found->value);
  }

  /// Returns the output of a command, as far as it is known.
  std::optional<std::string> substitution(std::string_view inside) {
    if (expansions_ >= kMostNested) return std::nullopt;
    if (auto nodes = counted_nodes(inside)) return nodes;
    const auto has = [&](std::string_view part) {
      return inside.find(part) != std::string_view::npos;
    };
    ++expansions_;
    const CommandList commands = shell_commands(inside);
    std::optional<std::string> text;
    const std::string first = commands.empty() || commands.front().words.empty()
                                  ? std::string()
                                  : commands.front().words.front().text();
    const bool pipes = std::ranges::all_of(commands, [&](const ShellCommand& one) {
      const bool joins = &one == &commands.front() || one.sign == ShellCommand::Sign::pipe;
      return one.kind == ShellCommand::Kind::simple && !one.words.empty() && joins;
    });
    if (first == "cat" && commands.size() == 2 &&
        commands[1].kind == ShellCommand::Kind::document) {
      text = expanded(commands[1].text);
    } else if (pipes &&
               (first == "echo" || first == "printf" || first == "expr" || has(kHereString))) {
      text = piped(commands);
    } else if (state().functions.contains(first) || has("echo ") || has("printf ")) {
      text = printed_by(commands);  // which could be known
    }
    --expansions_;
    return text;
  }

  /// `echo A,B | tr ',' ' ' | wc -w`, `cut -d, -f1 <<< A,B` or `expr A + B`.
  std::optional<std::string> piped(const CommandList& commands) {
    std::vector<Words> filters;
    for (const ShellCommand& one : commands) filters.push_back(words_of(one.words));
    Words& first = filters.front();
    const auto sign = std::ranges::find(first, kHereString);
    std::optional<std::string> text;
    if (sign != first.end()) {
      text = in_one_line(Words(sign + 1, first.end()));
      first.erase(sign, first.end());
    } else {
      text = said(first);
      filters.erase(filters.begin());
      // Flags may be known in part.
      const bool flags = filters.empty() && text && text->find(" --") != std::string::npos;
      if (text && text->find_first_of(flags ? "`\\" : "$`\\") != std::string::npos) text.reset();
    }
    for (const Words& filter : filters) {
      if (!text || text->find_first_of("$`") != std::string::npos) return std::nullopt;
      env_.spend(text->size() + 16);
      text = filtered(*text, filter);
    }
    return text;
  }

  /// How many nodes there are, where `wc -l` counts them in what a scheduler made.
  std::optional<std::string> counted_nodes(std::string_view inside) const {
    constexpr std::string_view kLists[] = {"NODEFILE", "HOSTFILE", "NODELIST", "hostnames",
                                           "NODEINF"};
    const bool listed = std::ranges::any_of(
        kLists, [&](std::string_view list) { return inside.find(list) != std::string_view::npos; });
    const std::string* nodes = env_.known("SLURM_JOB_NUM_NODES");
    const bool counts = listed && inside.find("wc -l") != std::string_view::npos;
    return counts && nodes != nullptr ? std::optional(*nodes) : std::nullopt;
  }

  /// Returns the output of commands, which leave the variables as they were; empty where programs
  /// print.
  virtual std::optional<std::string> printed_by(const CommandList& commands) = 0;

  ShellState& state() { return env_.script.state; }

  ShellEnvironment env_;
  bool keeps_elements_{};                        ///< of arrays apart, for a `for`
  std::map<std::string, std::string> defaults_;  ///< taken from `${NAME:-…}` in this command

 private:
  /// Returns the name of an unknown command, which stands for its output; its words are none of the
  /// script's.
  static std::string in_one_word(std::string_view text) {
    const std::size_t blank = text.find_first_of(" \t\n");
    if (blank == std::string_view::npos) return std::string(text);
    return fmt::format("{}...{}", text.substr(0, blank), text[0] == '`' ? '`' : ')');
  }

  int expansions_{0};  ///< one in another
};

}  // namespace prequel
