#include "cli/json/errors_json.hpp"

#include "cli/json/json.hpp"

namespace prequel {

Json errors_json(const ErrorStatistics& errors) {
  return {{"n", errors.n},     {"mape", errors.mape}, {"median", errors.median},
          {"p90", errors.p90}, {"max", errors.max},   {"bias", errors.bias}};
}

Json levels_json(const Coverage& coverage) {
  Json levels = Json::array();
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    levels.push_back({{"level", kCoverageLevels[i]}, {"covered", coverage.inside[i]}});
  }
  return levels;
}

Json covered_json(const Coverage& coverage) {
  return {{"n", coverage.n}, {"levels", levels_json(coverage)}};
}

}  // namespace prequel
