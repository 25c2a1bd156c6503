#include "cli/text/number_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace prequel {

namespace {

/// Returns 0 in place of what rounds to it: no "-0.00".
double without_sign_of_zero(double value, int decimals) {
  return std::abs(value) < 0.5 * std::pow(10.0, -decimals) ? 0.0 : value;
}

}  // namespace

std::string fixed(double value, int decimals) {
  return fmt::format("{:.{}f}", without_sign_of_zero(value, decimals), decimals);
}

std::string percent(double share, int decimals) {
  return fixed(100 * share, decimals);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

std::string signed_fixed(double value, int decimals) {
  return fmt::format("{:+.{}f}", without_sign_of_zero(value, decimals), decimals);
}

std::string seconds_text(double seconds) {
  if (seconds >= 100) return fixed(seconds, 1) + " s";
  return seconds >= 1 ? fixed(seconds, 2) + " s" : fixed(seconds * 1e3, 1) + " ms";
}

std::string counted(long long count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace prequel
