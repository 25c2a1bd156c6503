#include "cli/text/number_text.hpp"

#include <fmt/format.h>

namespace prequel {

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool is_nothing = text.find_first_of("123456789") == std::string::npos;
  return is_nothing && text.starts_with("-0") ? text.substr(1) : text;
}

std::string percent(double share, int decimals) {
  return fixed(100 * share, decimals);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

std::string signed_fixed(double value, int decimals) {
  const std::string text = fixed(value, decimals);
  return text.starts_with("-") ? text : "+" + text;
}

std::string seconds_text(double seconds) {
  if (seconds >= 100) return fixed(seconds, 1) + " s";
  return seconds >= 1 ? fixed(seconds, 2) + " s" : fixed(seconds * 1e3, 1) + " ms";
}

std::string counted(long long count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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
