#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "cli/json/axis_json.hpp"
#include "cli/json/json.hpp"
#include "cli/report/drawing.hpp"
#include "hw/base/units.hpp"

namespace prequel {
namespace {

double to_digits(double value, double scale) {
  return std::round(value * scale) / scale;
}

}  // namespace

Json cloud_json(const std::vector<FoundPlan>& plans, std::size_t most) {
  const std::size_t count = std::min(plans.size(), most);
  const auto at = [&](std::size_t i) -> const FoundPlan& {
    return plans[i * plans.size() / count];
  };
  Json rows = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(
        {to_digits(at(i).peak_memory.value / kGiB, 1e3), to_digits(at(i).sec_per_iter, 1e6)});
  }
  Json axes = Json::object();
  each_axis([&](const auto& axis) {
    std::map<std::string, std::size_t> places;
    Json values = Json::array();
    std::vector<std::size_t> place_of(count);
    for (std::size_t i = 0; i < count; ++i) {
      Json value = axis_json(axis.of(at(i).plan));
      const auto [place, is_new] = places.try_emplace(value.dump(), places.size());
      if (is_new) values.push_back(std::move(value));
      place_of[i] = place->second;
    }
    if (values.size() < 2) return;
    axes[axis.name] = std::move(values);
    for (std::size_t i = 0; i < count; ++i) rows[i].push_back(place_of[i]);
  });
  return {{"of", plans.size()}, {"axes", std::move(axes)}, {"plans", std::move(rows)}};
}

}  // namespace prequel
