#include "cli/search/search_axes.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/flags/flags.hpp"
#include "cli/flags/value_lists.hpp"
#include "cli/search/plan_table.hpp"
#include "cli/search/shapes.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/plan_request.hpp"
#include "models/job/spelled_plan.hpp"

namespace prequel {
namespace {

/// Appends what is not there yet: a value that is said twice is one.
template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (!holds(values, value)) values.push_back(value);
}

/// Each of a list of words, as its place among those `known`.
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
    add_once(places, static_cast<std::size_t>(found - known.begin()));
  }
  return places;
}

/// Sets are between slashes, as commas are inside them.
template <Worded Enum>
std::vector<WordSet<Enum>> list_of(const std::string& flag, const std::string& text,
                                   const Domain<WordSet<Enum>>& domain) {
  std::vector<WordSet<Enum>> sets;
  for (const std::string& part : split(text, '/')) {
    const auto set = part.empty() ? std::nullopt : of_cell(part, domain);
    if (!set) {
      throw InputError(fmt::format("{} {}: expected {}, with / between sets", flag, printable(text),
                                   expected(domain)));
    }
    add_once(sets, *set);
  }
  return sets;
}
/// Reads the one value of a domain that has no lists.
template <class Value>
std::vector<Value> list_of(const std::string& flag, const std::string& text,
                           const Domain<Value>& domain) {
  if (const auto value = of_cell(text, domain)) return {*value};
  throw InputError(fmt::format("{} {}: expected {}", flag, printable(text), expected(domain)));
}
std::vector<std::int64_t> list_of(const std::string& flag, const std::string& text,
                                  const Domain<std::int64_t>& domain) {
  return whole_numbers(flag, text, domain.least, domain.most);
}
std::vector<bool> list_of(const std::string& flag, const std::string& text,
                          const Domain<bool>& /*domain*/) {
  std::vector<bool> values;
  for (const std::size_t place : chosen(flag, text, {"off", "on"})) values.push_back(place == 1);
  return values;
}
template <Worded Enum>
std::vector<Enum> list_of(const std::string& flag, const std::string& text,
                          const Domain<Enum>& domain) {
  const auto known = words(domain);
  std::vector<Enum> values;
  for (const std::size_t place : chosen(flag, text, {known.begin(), known.end()})) {
    values.push_back(static_cast<Enum>(place));
  }
  return values;
}

/// Every number of nodes at first, then fewer and fewer: steps of at most an eighth.
std::vector<std::int64_t> any_number(std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= most;) {
    counts.push_back(count);
    std::int64_t step = 1;
    while (16 * step <= count) step *= 2;
    count += step;
  }
  return counts;
}

/// Those that degrees fill which leave no choice, as of a single plan; else all.
std::int64_t nodes_of(const SearchAxes& degrees, const Cluster& cluster) {
  for (const auto* axis : {&degrees.dp, &degrees.tp, &degrees.pp}) {
    if (axis->size() != 1) return cluster.nodes;
  }
  PlanRequest only;
  bool one_choice = true;
  each_axis([&](const auto& axis) {
    const auto& said = axis.of(degrees);
    one_choice = one_choice && (axis.role != RankRole::replica || said.size() <= 1);
    if (!said.empty()) axis.of(only) = said.front();
  });
  const std::int64_t ranks = *only.dp * ranks_of_replica(only);
  const std::int64_t per_node = cluster.devices_per_node;
  const bool whole = one_choice && ranks % per_node == 0;
  return whole && ranks <= cluster.nodes * per_node ? ranks / per_node : cluster.nodes;
}

std::vector<std::int64_t> node_counts(const SearchOptions& options, const SearchInputs& inputs,
                                      const SearchAxes& degrees) {
  const auto said = options.axes.find("nodes");
  std::vector<std::int64_t> counts;
  const auto check = [&](const char* from, std::int64_t count) {
    if (count <= inputs.cluster.nodes) return;
    const std::int64_t nodes = inputs.cluster.nodes;
    throw InputError(fmt::format(
        "{} {}: {} has {} node{}; {} would do, or --set cluster.nodes={} if there are more", from,
        count, inputs.cluster.name, nodes, nodes == 1 ? "" : "s", nodes, count));
  };
  if (inputs.part_of_node > 0) {
    counts = {1};
  } else if (options.gpus) {
    counts = {nodes_of_gpus("--gpus", *options.gpus, inputs.cluster)};
    check("--gpus", counts.back());
  } else if (said != options.axes.end()) {
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
  } else if (options.within || options.fewest_gpus) {
    counts = any_number(inputs.cluster.nodes - options.reserve);
    if (!counts.empty()) return counts;
    counts = {inputs.cluster.nodes};
  } else {
    counts = {inputs.fixed.nodes.value_or(nodes_of(degrees, inputs.cluster))};
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
      add(flag_of(axis) + " " + printable(text), axis);
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

/// Tests whether a column of a search's own table answers, and says nothing of a plan.
bool is_answer(const std::string& column) {
  return column == "rank" || column == "gpus" ||
         std::ranges::any_of(kAnswerColumns,
                             [&](const auto& answer) { return answer.first == column; });
}

/// A cell as a job's plan says it: tables say switches by 0 and 1, too.
std::string of_plan(const std::string& column, const std::string& cell) {
  std::string text = cell;
  each_axis([&](const auto& axis) {
    if constexpr (std::is_same_v<decltype(axis.domain), Domain<bool>>) {
      const auto value = axis.name == column ? of_cell(cell, axis.domain) : std::nullopt;
      if (value) text = *value ? "true" : "false";
    }
  });
  return text;
}

/// Returns a list with each of its numbers, between commas and colons, as `plain` has it.
template <class Plain>
std::string each_number(const std::string& list, const Plain& plain) {
  std::string text;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find_first_of(",:", begin), list.size());
    text += plain(list.substr(begin, end - begin));
    if (end < list.size()) text += list[end];
    begin = end + 1;
  }
  return text;
}

}  // namespace

SearchAxes read_axes(const SearchOptions& options, const SearchInputs& inputs) {
  SearchAxes axes;
  const auto read = [&](const auto& axis, const auto& plain) {
    if (!is_listed(axis.use)) return;
    const auto said = options.axes.find(std::string(axis.name));
    if (said == options.axes.end()) return;
    axis.of(axes) = list_of(flag_of(axis.name), each_number(said->second, plain), axis.domain);
  };
  each_axis([&](const auto& axis) {
    if (axis.name == "seq_len")
      read(axis, tokens_of);
    else if (axis.name != "gbs")
      read(axis, std::identity{});
  });
  each_axis([&](const auto& axis) {
    if (axis.name != "gbs") return;
    const std::int64_t length = axes.seq_len.size() == 1
                                    ? axes.seq_len.front()
                                    : inputs.fixed.seq_len.value_or(inputs.model.max_positions);
    read(axis, [&](const std::string& value) { return sequences_of("--gbs", value, length); });
  });
  axes.nodes = node_counts(options, inputs, axes);
  if (axes.gbs.empty() && inputs.fixed.gbs) axes.gbs = {*inputs.fixed.gbs};
  if (axes.gbs.empty()) {
    throw InputError(
        "gbs: missing; the global batch size is needed, in sequences (512) or tokens (4M)");
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
      const std::string& column = table.columns()[i];
      if (row->cells[i].empty() || is_answer(column)) continue;
      plan.set(column, of_plan(column, row->cells[i]), place);
      ++filled[column];
    }
    const ModelShape shape = shapes.read(plan.root());
    PlanRequest request = read_plan(plan.root());
    plan.finish();
    plans.requests.push_back({filled_from(std::move(request), inputs.fixed), shape});
  }
  if (plans.requests.empty()) throw InputError(path + ": no plan below the header");
  plans.overruled = overruled_flags(options, filled, plans.requests.size());
  std::vector<std::string> answers = table.columns();
  std::erase_if(answers, [](const std::string& column) { return !is_answer(column); });
  if (!answers.empty()) {
    plans.overruled.push_back(
        fmt::format("--plans {}: answers are found again, those of the table "
                    "are not read: {}",
                    printable(path), fmt::join(answers, ", ")));
  }
  return plans;
}

}  // namespace prequel
