#include "cli/search/plan_columns.hpp"

#include <algorithm>

#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

constexpr std::string_view kShownAxes[] = {"nodes",
                                           "dp",
                                           "tp",
                                           "pp",
                                           "vpp",
                                           "mbs",
                                           "gbs",
                                           "zero",
                                           "recompute",
                                           "schedule",
                                           "sequence_parallel"};

/// Returns the value of a plan where nobody says the axis. A value that is neither searched nor the
/// stack's default follows from other axes, or is asked for.
template <class Axis>
std::string usual_cell(const Axis& axis, const SearchInputs& inputs, const Plan& first) {
  if (axis.role != RankRole::none) return "1";
  if (axis.of(inputs.fixed)) return cell_of(axis.of(first));
  if (const auto& usual = axis.of(inputs.software.defaults)) return cell_of(*usual);
  return is_listed(axis.use) ? cell_of(plainest(axis.domain)) : cell_of(axis.of(first));
}

}  // namespace

std::vector<ColumnOfAxis> further_columns(const std::vector<const Plan*>& plans,
                                          const SearchInputs& inputs) {
  std::vector<ColumnOfAxis> columns;
  if (plans.empty()) return columns;
  each_axis([&](const auto& axis) {
    const bool shown = std::ranges::find(kShownAxes, axis.name) != std::end(kShownAxes);
    if (shown || axis.use == AxisUse::shared) return;
    ColumnOfAxis column{spaced(axis.name), {}};
    for (const Plan* plan : plans) column.cells.push_back(cell_of(axis.of(*plan)));
    const std::string usual = usual_cell(axis, inputs, *plans.front());
    const bool is_usual =
        std::ranges::all_of(column.cells, [&](const std::string& cell) { return cell == usual; });
    if (!is_usual) columns.push_back(std::move(column));
  });
  return columns;
}

}  // namespace prequel
