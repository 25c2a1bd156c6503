#include "sim/engine/clock.hpp"

#include <cmath>
#include <numeric>

namespace prequel {

std::vector<double> exact_durations(std::span<const double> durations, double runs) {
  std::vector<double> rounded(durations.begin(), durations.end());
  const double bound = runs * std::accumulate(durations.begin(), durations.end(), 0.0);
  if (!(bound > 0) || !std::isfinite(bound)) return rounded;
  int exponent = 0;
  std::frexp(bound, &exponent);  // bound < 2^exponent
  // Doubles near 1.5 * 2^exponent are 2^(exponent - 52) apart: adding that rounds to the grid.
  const double shift = std::ldexp(1.5, exponent);
  for (double& duration : rounded) duration = (duration + shift) - shift;
  return rounded;
}

std::uint32_t Clock::skip(std::uint32_t remaining, std::span<Token> carried) {
  const auto found = repetition_.find(finish_, carried, busy_);
  if (!found) return 0;
  const std::uint32_t periods = remaining / found->waves;
  repeat(*found->since, periods, finish_, carried, busy_);
  return periods * found->waves;
}

}  // namespace prequel
