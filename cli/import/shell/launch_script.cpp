#include "cli/import/shell/launch_script.hpp"

#include <iterator>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "cli/import/shell/script_reader.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostReadings = 128;  // of a script, with other branches

/// The value of a flag as it comes last; empty where it is not said or not known.
std::string last_value(const std::vector<std::string>& words, std::string_view flag) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(flag) && words[i].substr(flag.size(), 1) == "=") {
      value = words[i].substr(flag.size() + 1);
    }
  }
  return parse_integer(value) ? value : std::string();
}

}  // namespace

ShellState shell_state(const ScriptInputs& inputs) {
  ShellState state;
  if (inputs.arguments) {
    std::istringstream words(*inputs.arguments);
    state.arguments.emplace(std::istream_iterator<std::string>(words),
                            std::istream_iterator<std::string>());
  }
  for (const std::string& setting : inputs.environment) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("--env " + printable(setting) + ": expected NAME=VALUE");
    }
    state.variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return state;
}

LaunchScript read_launch_script(const std::string& file, std::string_view text,
                                const ShellState& before, const Choices& choices) {
  ScriptReader reader(file, before, choices);
  reader.read(text, 0);
  return reader.finished();
}

void refuse_open_sizes(const std::string& file, std::string_view text, const ShellState& before,
                       const LaunchScript& script) {
  std::size_t readings = 0;
  for (const OpenChain& chain : script.open) {
    for (const char* flag : {"--num-layers", "--hidden-size"}) {
      std::set<std::string> sizes;
      for (std::size_t i = 0; i < chain.values.size() && readings < kMostReadings;
           ++i, ++readings) {
        const LaunchScript other = read_launch_script(file, text, before, {{chain.number, i}});
        if (const std::string size = last_value(other.words, flag); !size.empty()) {
          sizes.insert(size);
        }
      }
      if (sizes.size() < 2) continue;
      throw InputError(fmt::format("{}: {} decides {} ({}): {}{}", file, printable(chain.subject),
                                   flag, fmt::join(sizes, ", "), told(chain), how_to_say(chain)));
    }
  }
}

}  // namespace prequel
