#include "models/axes/plan_request.hpp"

#include <type_traits>

#include "models/axes/axis_text.hpp"

namespace prequel {

PlanRequest filled_from(PlanRequest request, const PlanRequest& other) {
  each_axis([&](const auto& axis) {
    if (!axis.of(request)) axis.of(request) = axis.of(other);
  });
  return request;
}

PlanRequest read_plan(const Cursor& cursor) {
  PlanRequest request;
  each_axis([&](const auto& axis) {
    if (const auto found = cursor.find(axis.name)) {
      axis.of(request) = read_value(*found, axis.domain);
    }
  });
  return request;
}

std::int64_t ranks_of_replica(const PlanRequest& plan) {
  std::int64_t ranks = 1;
  each_axis([&](const auto& axis) {
    if constexpr (std::is_same_v<typename std::decay_t<decltype(axis)>::Value, std::int64_t>) {
      if (axis.role == RankRole::replica) ranks *= axis.of(plan).value_or(1);
    }
  });
  return ranks;
}

std::string degrees_of_replica() {
  std::string text;
  each_axis([&](const auto& axis) {
    if (axis.role == RankRole::replica)
      text += (text.empty() ? "" : " x ") + std::string(axis.name);
  });
  return text;
}

}  // namespace prequel
