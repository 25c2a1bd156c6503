#include "cli/text/spread_text.hpp"

#include <fmt/format.h>

namespace prequel {

std::string spread_text(const std::vector<SpreadSource>& sources) {
  constexpr double kNothing = 0.005;  // prints as 0 %
  std::string text;
  for (const SpreadSource& source : sources) {
    if (!text.empty() && source.share < kNothing) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", source.name, 100 * source.share);
  }
  return text;
}

}  // namespace prequel
