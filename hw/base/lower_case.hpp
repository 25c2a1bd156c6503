#pragma once

/// Names in any case, as people write them.

#include <algorithm>
#include <cctype>
#include <string>

namespace prequel {

/// `text` with the letters of ASCII small.
inline std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace prequel
