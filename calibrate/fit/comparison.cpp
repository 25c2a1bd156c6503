#include "calibrate/fit/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "calibrate/statistics/error_statistics.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

bool is_result(std::string_view field) {
  static constexpr std::array<std::string_view, 9> kResults{"time_s", "time_us",  "p10_s",
                                                            "p90_s",  "samples",  "skipped",
                                                            "source", "operator", "size_class"};
  return std::find(kResults.begin(), kResults.end(), field) != kResults.end();
}

std::string identity(const Measurement& point) {
  std::string text;
  for (const auto& [field, value] : point.fields) {
    if (is_result(field) || value.empty()) continue;
    if (!text.empty()) text += ' ';
    text += field + "=" + value;
  }
  return text;
}

double field_or_time(const Measurement& point, const std::string& field) {
  const auto found = point.fields.find(field);
  const auto value = found == point.fields.end() ? std::nullopt : parse_number(found->second);
  return value.value_or(point.time.value);
}

bool beyond_noise(const Measurement& a, const Measurement& b) {
  return field_or_time(a, "p90_s") < field_or_time(b, "p10_s") ||
         field_or_time(b, "p90_s") < field_or_time(a, "p10_s");
}

ComparedGroup group(const std::string& name, const std::vector<const ComparedPoint*>& points) {
  ComparedGroup made{name, points.size(), 0, 0.0, 0.0, 0.0};
  std::vector<double> ratios;
  for (const ComparedPoint* point : points) {
    ratios.push_back(point->ratio());
    if (point->beyond_noise) ++made.beyond_noise;
  }
  made.p10 = quantile(ratios, 0.1);
  made.median = quantile(ratios, 0.5);
  made.p90 = quantile(std::move(ratios), 0.9);
  return made;
}

}  // namespace

Comparison compare(const std::vector<Measurement>& reference,
                   const std::vector<Measurement>& other) {
  std::map<std::string, const Measurement*> before;
  std::map<std::string, const Measurement*> after;
  for (const Measurement& point : reference) before[identity(point)] = &point;
  for (const Measurement& point : other) after[identity(point)] = &point;
  Comparison result;
  for (const auto& [what, point] : before) {
    const auto found = after.find(what);
    if (found == after.end()) {
      ++result.only_reference;
      continue;
    }
    result.points.push_back({what, point->fields.at("operator"), point->time, found->second->time,
                             beyond_noise(*point, *found->second)});
  }
  result.only_other = after.size() - result.points.size();
  std::stable_sort(result.points.begin(), result.points.end(),
                   [](const ComparedPoint& a, const ComparedPoint& b) {
                     return std::abs(std::log(a.ratio())) > std::abs(std::log(b.ratio()));
                   });
  std::map<std::string, std::vector<const ComparedPoint*>> by_operator;
  std::vector<const ComparedPoint*> all;
  for (const ComparedPoint& point : result.points) {
    by_operator[point.operator_name].push_back(&point);
    all.push_back(&point);
  }
  if (all.empty()) return result;
  result.groups.push_back(group("all", all));
  for (const auto& [name, points] : by_operator) result.groups.push_back(group(name, points));
  return result;
}

}  // namespace prequel
