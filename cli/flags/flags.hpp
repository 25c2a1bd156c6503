#pragma once

/// The flags of what libraries know by name: `gbs_ramp` is `--gbs-ramp`.

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hw/base/errors.hpp"

namespace prequel {

/// `name`, or a name and its value ("slow_node 7"), as the command line says it.
std::string flag_of(std::string_view name);

/// The spellings of an axis' flag, as CLI11 takes them.
std::string flags_of(const auto& axis) {
  std::string flags = flag_of(axis.name);
  if constexpr (std::is_same_v<typename std::decay_t<decltype(axis)>::Value, bool>) {
    flags += ",!--no-" + flags.substr(2);
  }
  if (!axis.alias.empty()) flags += ",--" + std::string(axis.alias);
  return flags;
}

/// The problems of an error, with the flag in place of its subject.
std::vector<std::string> problems_in_flags(const InputError& error);

}  // namespace prequel
