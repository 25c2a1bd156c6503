#include "cli/json/errors_json.hpp"

namespace prequel {

nlohmann::ordered_json errors_json(const ErrorStatistics& errors) {
  return {{"n", errors.n},     {"mape", errors.mape}, {"median", errors.median},
          {"p90", errors.p90}, {"max", errors.max},   {"bias", errors.bias}};
}

nlohmann::ordered_json covered_json(const Coverage& coverage) {
  auto levels = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    levels.push_back({{"level", kCoverageLevels[i]}, {"covered", coverage.inside[i]}});
  }
  return {{"n", coverage.n}, {"levels", levels}};
}

}  // namespace prequel
