#include "calibrate/validate/ranking.hpp"

#include <algorithm>

namespace prequel {

double kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double score = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    for (std::size_t j = i + 1; j < predicted.size(); ++j) {
      const double product = (predicted[i] - predicted[j]) * (measured[i] - measured[j]);
      score += product > 0 ? 1 : (product < 0 ? -1 : 0);
      pairs += 1;
    }
  }
  return pairs > 0 ? score / pairs : 0;
}

double top1_regret(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const auto best = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  return measured[static_cast<std::size_t>(best)] /
             *std::min_element(measured.begin(), measured.end()) -
         1;
}

std::size_t place_of_best(const std::vector<double>& predicted,
                          const std::vector<double>& measured) {
  const auto best = std::min_element(measured.begin(), measured.end()) - measured.begin();
  const double of_best = predicted[static_cast<std::size_t>(best)];
  return 1 + static_cast<std::size_t>(std::count_if(predicted.begin(), predicted.end(),
                                                    [&](double other) { return other < of_best; }));
}

}  // namespace prequel
