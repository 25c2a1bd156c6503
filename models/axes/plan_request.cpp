#include "models/axes/plan_request.hpp"

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

}  // namespace prequel
