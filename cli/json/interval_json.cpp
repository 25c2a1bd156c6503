#include "cli/json/interval_json.hpp"

#include "cli/json/json.hpp"

namespace prequel {

Json sources_json(const std::vector<SpreadSource>& sources) {
  return list_json(sources, [](const SpreadSource& source) {
    return Json{{"name", source.name}, {"share", source.share}};
  });
}

Json interval_json(const Interval& interval) {
  return {{"level", interval.level},
          {"sec_per_iter", {interval.time_low.value, interval.time_high.value}},
          {"memory_gib", {gib(interval.memory_low), gib(interval.memory_high)}},
          {"fits_probability", interval.fits_probability},
          {"sources", sources_json(interval.sources)},
          {"basis", interval.basis}};
}

Json causes_json(const std::vector<GapCause>& causes) {
  return list_json(causes, [](const GapCause& one) {
    Json cause{{"cause", one.what}, {"probability", one.probability}};
    if (!one.path.empty()) cause["path"] = one.path;
    cause.update({{"times", one.value}, {"low", one.low}, {"high", one.high}});
    return cause;
  });
}

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
