#include "cli/search/axes.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/search/shapes.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostValues = 10000;  // of one axis
constexpr std::int64_t kMostDegree = 1 << 13;
constexpr std::int64_t kMostBatch = 1 << 30;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Each of a list of names, as its place in `known`.
std::vector<std::size_t> chosen(const std::string& flag, const std::string& text,
                                const std::vector<std::string>& known) {
  std::vector<std::size_t> places;
  for (const std::string& word : split(text, ',')) {
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
      throw InputError(fmt::format("{} {}: unknown value {}{}; {} would do", flag, printable(text),
                                   in_quotes(word), did_you_mean(word, known),
                                   fmt::join(known, ", ")));
    }
    places.push_back(static_cast<std::size_t>(found - known.begin()));
  }
  return places;
}

template <class Value>
std::vector<Value> chosen_as(const std::string& flag, const std::string& text,
                             const std::vector<std::string>& known) {
  std::vector<Value> values;
  for (const std::size_t place : chosen(flag, text, known)) {
    values.push_back(static_cast<Value>(place));
  }
  return values;
}

template <std::size_t N>
std::vector<std::string> names_of(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleName& schedule : kSchedules) names.emplace_back(schedule.name);
  return names;
}

std::vector<std::int64_t> node_counts(const SearchOptions& options, const SearchInputs& inputs) {
  const auto said = options.axes.find("nodes");
  std::vector<std::int64_t> counts;
  const auto check = [&](const char* from, std::int64_t count) {
    if (count <= inputs.cluster.nodes) return;
    throw InputError(fmt::format("{} {}: {} has {} nodes; {} would do", from, count,
                                 inputs.cluster.name, inputs.cluster.nodes, inputs.cluster.nodes));
  };
  if (said != options.axes.end()) {
    counts = whole_numbers("--nodes", said->second, 1, 1 << 20);
    check("--nodes", counts.back());
  } else if (options.max_nodes) {
    check("--max-nodes", *options.max_nodes);
    for (std::int64_t n = 1; n <= *options.max_nodes - options.reserve; ++n) counts.push_back(n);
    if (counts.empty()) {
      throw InputError(fmt::format("--reserve {}: leaves none of {} nodes", options.reserve,
                                   *options.max_nodes));
    }
    return counts;
  } else {
    counts = {inputs.fixed.nodes.value_or(inputs.cluster.nodes)};
    check("plan.nodes", counts.back());
  }
  for (std::int64_t& count : counts) {
    count -= options.reserve;
    if (count < 1) {
      throw InputError(fmt::format("--reserve {}: leaves none of {} nodes", options.reserve,
                                   count + options.reserve));
    }
  }
  return counts;
}

std::string field_of(std::string axis) {
  std::ranges::replace(axis, '-', '_');
  return axis;
}

/// Flags say what rows leave out: those that every row overrules say nothing.
std::vector<std::string> overruled_flags(const SearchOptions& options,
                                         const std::map<std::string, std::size_t>& filled,
                                         std::size_t rows) {
  std::vector<std::string> flags;
  const auto add = [&](const std::string& flag, const std::string& field) {
    const auto found = filled.find(field);
    if (found == filled.end() || found->second < rows) return;
    flags.push_back(
        fmt::format("{}: every row of {} says its own {}", flag, printable(*options.plans), field));
  };
  for (const auto* axes : {&options.axes, &options.shape_axes}) {
    for (const auto& [axis, text] : *axes) {
      add("--" + axis + " " + printable(text), field_of(axis));
    }
  }
  for (const Override& override : options.request.overrides) {
    if (!override.path.starts_with("plan.")) continue;
    const std::string field = override.path.substr(std::string_view("plan.").size());
    add(override.from + (override.from == "--set" ? " " + override.path + "=" : " ") +
            printable(override.value),
        field);
  }
  return flags;
}

}  // namespace

std::vector<std::int64_t> whole_numbers(const std::string& flag, const std::string& text,
                                        std::int64_t least, std::int64_t most) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("{} {}: {}", flag, printable(text), why));
  };
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::int64_t> bounds;
    for (const std::string& number : split(part, ':')) {
      const auto value = parse_integer(number);
      if (!value) fail("expected whole numbers such as 1,2,4 or ranges such as 8:64:8");
      if (*value < least || *value > most) {
        fail(fmt::format("{} is not from {} to {}", *value, least, most));
      }
      bounds.push_back(*value);
    }
    const std::int64_t step = bounds.size() > 2 ? bounds[2] : 1;
    if (bounds.size() > 3 || step < 1) fail("expected FIRST:LAST or FIRST:LAST:STEP");
    for (std::int64_t value = bounds[0]; value <= bounds[bounds.size() > 1 ? 1 : 0];
         value += step) {
      values.push_back(value);
      if (values.size() > kMostValues) fail(fmt::format("more than {} values", kMostValues));
    }
    if (bounds.size() > 1 && bounds[1] < bounds[0]) fail("the range ends before it begins");
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

SearchAxes read_axes(const SearchOptions& options, const SearchInputs& inputs) {
  SearchAxes axes;
  const auto text = [&](const char* axis) -> const std::string* {
    const auto found = options.axes.find(axis);
    return found == options.axes.end() ? nullptr : &found->second;
  };
  const auto numbers = [&](const char* axis, std::int64_t least, std::int64_t most) {
    const std::string* said = text(axis);
    return said ? whole_numbers(std::string("--") + axis, *said, least, most)
                : std::vector<std::int64_t>{};
  };
  axes.nodes = node_counts(options, inputs);
  axes.dp = numbers("dp", 1, 1 << 20);
  axes.tp = numbers("tp", 1, kMostDegree);
  axes.pp = numbers("pp", 1, kMostDegree);
  axes.vpp = numbers("vpp", 1, kMostDegree);
  axes.mbs = numbers("mbs", 1, 1 << 20);
  axes.gbs = numbers("gbs", 1, kMostBatch);
  axes.zero = numbers("zero", 0, 3);
  if (axes.gbs.empty() && inputs.fixed.gbs) axes.gbs = {*inputs.fixed.gbs};
  if (axes.gbs.empty()) {
    throw InputError("gbs: missing; the global batch size in sequences is needed (--gbs)");
  }
  if (const auto* said = text("recompute")) {
    axes.recompute = chosen_as<Recompute>("--recompute", *said, names_of(kRecomputeNames));
  }
  if (const auto* said = text("offload")) {
    axes.offload = chosen_as<Offload>("--offload", *said, names_of(kOffloadNames));
  }
  if (const auto* said = text("sequence-parallel")) {
    axes.sequence_parallel = chosen_as<bool>("--sequence-parallel", *said, {"off", "on"});
  }
  if (const auto* said = text("schedule")) {
    const std::vector<std::string> known = schedule_names();
    for (const std::size_t place : chosen("--schedule", *said, known)) {
      axes.schedule.push_back(known[place]);
    }
  }
  return axes;
}

PlanTable read_plan_table(const SearchOptions& options, const SearchInputs& inputs) {
  const std::string& path = *options.plans;
  std::ifstream in(path);
  if (!in) throw InputError("--plans " + printable(path) + ": cannot be read");
  CsvReader table(in, path);
  const ShapeReader shapes(options, inputs.model);
  PlanTable plans;
  std::map<std::string, std::size_t> filled;  // cells, by column
  while (const auto row = table.next()) {
    const std::string place = fmt::format("{}: line {}", path, row->line);
    if (row->cells.size() != table.columns().size()) {
      throw InputError(fmt::format("{}: {} cells under {} columns", place, row->cells.size(),
                                   table.columns().size()));
    }
    Document plan = Document::from(place, nlohmann::json::object());
    for (std::size_t i = 0; i < row->cells.size(); ++i) {
      if (row->cells[i].empty()) continue;
      plan.set(table.columns()[i], row->cells[i], place);
      ++filled[table.columns()[i]];
    }
    const ModelShape shape = shapes.read(plan.root());
    PlanRequest request = read_plan(plan.root());
    plan.finish();
    plans.requests.push_back({filled_from(std::move(request), inputs.fixed), shape});
  }
  if (plans.requests.empty()) throw InputError(path + ": no plan below the header");
  plans.overruled = overruled_flags(options, filled, plans.requests.size());
  return plans;
}

}  // namespace prequel
