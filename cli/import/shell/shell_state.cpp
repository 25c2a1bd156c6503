#include "cli/import/shell/shell_state.hpp"

#include <cctype>

#include <fmt/format.h>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/text.hpp"

namespace prequel {

std::string told(const OpenChain& chain) {
  std::string text;
  for (std::size_t i = 0; i < chain.values.size(); ++i) {
    const std::string value = chain.values[i].empty() ? "another" : printable(chain.values[i], 40);
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < chain.values.size() ? ", " : " or ", value);
  }
  return text;
}

std::string how_to_say(const OpenChain& chain) {
  std::string name = chain.subject;
  std::erase_if(name, [](char c) { return !is_name_letter(c); });
  const std::string value = chain.values.front().substr(0, chain.values.front().find('|'));
  if (name.empty()) return {};
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    return fmt::format("; --args \"…\" gives the script's arguments, of which it is number {}",
                       name);
  }
  return fmt::format("; --env {}={} says it", name, printable(value));
}

}  // namespace prequel
