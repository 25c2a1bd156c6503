#pragma once

#include <utility>
#include <vector>

namespace prequel {

/// Tokens seen by the work done, straight between the points: (s at the predicted speed, tokens),
/// ascending. Where there are none, work stands for tokens.
struct TokensOfWork {
  std::vector<std::pair<double, double>> points;
  [[nodiscard]] double at(double work) const;
};

}  // namespace prequel
