#include "cli/import/configs/config_templates.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestText = 16u << 20;

/// JSON has no `$` outside of quotes.
std::string with_variables(std::string_view text, const ShellState& state) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const bool braces = text.substr(at, 2) == "${";
    const std::size_t begin = at + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    const auto known = text[at] == '$' ? state.variables.find(text.substr(begin, end - begin))
                                       : state.variables.end();
    if (known == state.variables.end() || (braces && text.substr(end, 1) != "}")) {
      filled += text[at++];
      continue;
    }
    filled += known->second;
    at = end + (braces ? 1 : 0);
    if (filled.size() > kLongestText) throw InputError("envsubst: makes over 16 MiB of a config");
  }
  return filled;
}

/// As `sed` does.
std::string substituted(std::string text, const ImportedJob& job) {
  for (const auto& [name, value] : job.substitutions) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
      at += value.size();
      if (text.size() > kLongestText) throw InputError("sed: makes over 16 MiB of a config");
    }
  }
  return text;
}

}  // namespace

void remember_substitutions(std::string_view word, ImportedJob& job) {
  while (word.size() > 5 && word[0] == 's' &&
         std::ispunct(static_cast<unsigned char>(word[1])) != 0) {
    const char sign = word[1];
    const std::size_t middle = word.find(sign, 2);
    const std::size_t end = middle == std::string_view::npos ? middle : word.find(sign, middle + 1);
    if (end == std::string_view::npos) return;
    const std::string_view name = word.substr(2, middle - 2);
    const std::string_view value = word.substr(middle + 1, end - middle - 1);
    if (name.size() > 2 && is_variable_name(name) && value.find('$') == std::string_view::npos) {
      job.substitutions.emplace_back(name, value);
    }
    word.remove_prefix(end + 1);
    word.remove_prefix(std::min(word.find_first_of(";\n"), word.size()));
    word.remove_prefix(std::min(word.find_first_not_of("; \n"), word.size()));
  }
}

std::string filled_template(const std::string& text, const ImportedJob& job,
                            const ShellState& state) {
  return with_variables(substituted(text, job), state);
}

}  // namespace prequel
