#include "cli/search/plan_table.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "cli/text/number_text.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "sim/step/breakdown.hpp"

namespace prequel {
namespace {

constexpr std::size_t kWidest = 118;  // characters of a line of settings, where any would do
constexpr std::string_view kShownAxes[] = {
    "nodes",   "dp", "tp", "pp", "vpp", "mbs", "gbs", "zero", "recompute", "sequence_parallel",
    "schedule"};

/// Returns the value of a plan where nobody says the axis. A value that is neither searched nor the
/// stack's default follows from other axes, or is asked for.
template <class Axis>
auto usual_value(const Axis& axis, const SearchInputs& inputs, const Plan& first) {
  using Value = std::decay_t<decltype(axis.of(first))>;
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    if (axis.role != RankRole::none) return Value{1};
  }
  if (axis.of(inputs.fixed)) return axis.of(first);
  if (const auto& usual = axis.of(inputs.software.defaults)) return Value(*usual);
  return is_listed(axis.use) ? Value(plainest(axis.domain)) : axis.of(first);
}

template <class Value>
std::string setting_text(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "on" : "off";
  } else {
    return cell_of(value);
  }
}

/// Returns the columns of axes: those that every plan says, and others with news.
std::vector<TextColumn> axis_columns(const std::vector<const Plan*>& plans,
                                     const SearchInputs& inputs) {
  std::vector<TextColumn> columns(std::size(kShownAxes));
  each_axis([&](const auto& axis) {
    const auto shown = std::ranges::find(kShownAxes, axis.name);
    const bool is_shown = shown != std::end(kShownAxes);
    const auto usual = usual_value(axis, inputs, *plans.front());
    const auto is_usual = [&](const Plan* plan) { return axis.of(*plan) == usual; };
    if (!is_shown && (axis.use == AxisUse::shared || std::ranges::all_of(plans, is_usual))) return;
    // --json and --csv have layouts, which are long.
    TextColumn column{spaced(axis.name), {}, true, axis.name == "layout"};
    for (const Plan* plan : plans) column.cells.push_back(setting_text(axis.of(*plan)));
    if (!is_shown) columns.emplace_back();
    (is_shown ? columns[std::size_t(shown - kShownAxes)] : columns.back()) = std::move(column);
  });
  return columns;
}

/// Returns the rank, marked where the plan cannot be told from the best.
std::string rank_cell(const Json& rank, const Json& record) {
  return rank.dump() + (record.value("tie_with_best", false) ? " =" : "");
}

std::string share_of_step(const Json& seconds, const Json& record) {
  return percent(seconds.get<double>() / record.at("sec_per_iter").get<double>());
}

std::string share_of_communication(const Json& breakdown, const Json& record) {
  double seconds = 0;
  for (const TimePart& part : kTimeParts) {
    if (part.is_communication) seconds += breakdown.at(part.key).get<double>();
  }
  return share_of_step(seconds, record);
}

std::size_t width_of(const TextColumn& column) {
  std::size_t widest = display_width(column.name);
  for (const std::string& cell : column.cells) widest = std::max(widest, display_width(cell));
  return widest + 2;
}

}  // namespace

std::string verdict_cell(const Json& verdict, const Json& record) {
  constexpr double kSure = 0.95;
  const double odds = record.value("fits_probability", 1.0);
  const auto text = verdict.get<std::string>();
  return odds < kSure ? fmt::format("{} ({:.0f} %)", text, 100 * odds) : text;
}

std::string plan_table(const Json& records, const std::vector<const Plan*>& plans,
                       const SearchInputs& inputs, bool shaped, std::size_t width) {
  std::vector<TextColumn> columns = columns_of(records, {{"rank", "/rank", rank_cell}});
  const auto append = [&](std::vector<TextColumn> more, bool are_settings) {
    for (TextColumn& column : more) {
      column.is_setting = are_settings;
      columns.push_back(std::move(column));
    }
  };
  if (shaped) {
    append(columns_of(records, {{"layers", "/model_shape/layers"},
                                {"hidden", "/model_shape/hidden"},
                                {"heads", "/model_shape/heads"}}),
           true);
  }
  append(axis_columns(plans, inputs), true);
  append(columns_of(records, {{"sec/it", "/sec_per_iter", fixed_cell(2)},
                              {"GPU-hours", "/gpu_hours", fixed_cell(0)},
                              {"cost", "/cost", fixed_cell(0)},
                              {"TFLOPs", "/tflops_per_gpu/model", fixed_cell(1), true},
                              {"MFU %", "/mfu", percent_cell()},
                              {"GiB", "/memory/peak_gib", fixed_cell(1)},
                              {"free %", "/memory/headroom", percent_cell(), true},
                              {"bubble %", "/breakdown_s/bubble", share_of_step, true},
                              {"comm %", "/breakdown_s", share_of_communication, true},
                              {"memory", "/memory/verdict", verdict_cell}}),
         false);
  std::string same;
  std::erase_if(columns, [&](const TextColumn& column) {
    const std::string& first = column.cells.front();
    if (!column.is_setting || std::ranges::count(column.cells, first) < std::ssize(column.cells)) {
      return false;
    }
    if (!first.empty()) {
      same += fmt::format("{}{} {}", same.empty() ? "" : ", ", column.name, first);
    }
    return true;
  });
  const auto all = [&] {
    std::size_t sum = 2;
    for (const TextColumn& column : columns) sum += width_of(column);
    return sum;
  };
  while (width > 0 && all() > width) {
    const auto last =
        std::find_if(columns.rbegin(), columns.rend(), std::mem_fn(&TextColumn::may_go));
    if (last == columns.rend()) break;
    columns.erase(std::next(last).base());
  }
  const std::string above =
      same.empty()
          ? ""
          : "  " + wrapped("in all rows: " + same, width > 0 ? width - 2 : kWidest, "    ") +
                "\n\n";
  return above + TextTable::of(columns).text(width);
}

}  // namespace prequel
