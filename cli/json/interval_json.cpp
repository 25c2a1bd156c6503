#include "cli/json/interval_json.hpp"

#include <nlohmann/json.hpp>

namespace prequel {

nlohmann::ordered_json interval_json(const Interval& interval) {
  using Json = nlohmann::ordered_json;
  Json sources = Json::array();
  for (const SpreadSource& source : interval.sources) {
    sources.push_back({{"name", source.name}, {"share", source.share}});
  }
  return {{"level", interval.level},
          {"sec_per_iter", {interval.time_low.value, interval.time_high.value}},
          {"memory_gib", {interval.memory_low.value / kGiB, interval.memory_high.value / kGiB}},
          {"fits_probability", interval.fits_probability},
          {"sources", sources},
          {"basis", interval.basis}};
}

nlohmann::ordered_json causes_json(const std::vector<GapCause>& causes) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const GapCause& one : causes) {
    Json cause{{"cause", one.what}, {"probability", one.probability}};
    if (!one.path.empty()) cause["path"] = one.path;
    cause["times"] = one.value;
    cause["low"] = one.low;
    cause["high"] = one.high;
    list.push_back(std::move(cause));
  }
  return list;
}

}  // namespace prequel
