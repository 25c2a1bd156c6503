#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prequel {

enum class OutputFormat : std::uint8_t { text, json, csv };

/// Options that all commands share.
struct CommonOptions {
  std::vector<std::string> data_directories;
  std::string color{"auto"};  ///< auto, always, never
  bool quiet{};
  std::string call;  ///< the call that asks the same, as `call_text` spells it
};

}  // namespace prequel
