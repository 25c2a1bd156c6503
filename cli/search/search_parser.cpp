#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/flags.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/flags/site_flags.hpp"
#include "cli/search/search_axes.hpp"
#include "cli/search/search_options.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

/// A flag that takes a list.
struct ListFlag {
  std::string flags, key, help, values;
};

/// The model's shape, where it is free.
const ListFlag kShapeAxes[] = {
    {"--layers", "layers", "transformer blocks", "LIST"},
    {"--hidden", "hidden", "hidden sizes", "LIST"},
    {"--heads", "heads", "attention heads (default: the model's head size is kept)", "LIST"},
};

std::string list_form(const auto& /*numbers*/) {
  return "LIST";
}
std::string list_form(const Domain<bool>& /*switch*/) {
  return "off,on";
}
template <Worded Enum>
std::string list_form(const Domain<Enum>& domain) {
  return fmt::format("{}", fmt::join(words(domain), ","));
}

template <Worded Enum>
std::string list_form(const Domain<WordSet<Enum>>& /*sets*/) {
  return fmt::format("none/{}", fmt::join(kWordsOf<Enum>, ","));
}
std::string list_form(const Domain<std::string>& /*text*/) {
  return "auto|LAYOUT";
}

template <class Axis>
ListFlag list_flag(const Axis& axis) {
  constexpr bool kSwitch = std::is_same_v<typename Axis::Value, bool>;
  const std::string said = axis.use == AxisUse::listed ? " (default: the job's)" : "";
  return {kSwitch ? flag_of(axis.name) : flags_of(axis), std::string(axis.name),
          std::string(axis.help) + said, list_form(axis.domain)};
}

/// "a=2.1".
void add_price(const std::string& text, std::map<std::string, double>& prices) {
  const std::size_t equals = text.rfind('=');
  const auto price = equals == std::string::npos || equals == 0
                         ? std::nullopt
                         : parse_number(text.substr(equals + 1));
  if (!price || !(*price > 0)) {
    throw InputError("--price-of " + printable(text) +
                     ": expected a cluster and a number above 0, such as dgx-h100=2.1");
  }
  if (!prices.emplace(text.substr(0, equals), *price).second) {
    throw InputError("--price-of " + printable(text) + ": said twice");
  }
}

/// Seconds of "30d", "12h", "90m" or "3600s".
double duration(const std::string& flag, const std::string& text) {
  const auto time = parse_number(text) ? std::nullopt : parse_duration(text);
  if (time) return time->value;
  throw InputError(flag + " " + printable(text) +
                   ": expected a time above 0 with its unit, such as 30d, 12h or 90m");
}

}  // namespace

void add_search(CLI::App& app, SearchOptions& options, const Action& action) {
  CLI::App& command =
      *app.add_subcommand("search", "Every legal plan under the given limits, the best first");
  command.footer(
      "  prequel search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048\n"
      "  prequel search bloom-176b-jean-zay --max-nodes 52 --reserve 4 --tp 4,8 --mbs 1:4 "
      "--require 'dp % 4 == 0'\n");
  command.add_option_function<std::string>(
      "job", [&options](const std::string& job) { options.request.job = job; },
      "job file, shipped job or launch script: its model, cluster, batch and nodes");
  add_inputs(command, options.request);
  add_script(command, options.script);
  const auto add_axis = [&command](const ListFlag& axis, std::map<std::string, std::string>& axes) {
    return command
        .add_option_function<std::string>(
            axis.flags, [&axes, key = axis.key](const std::string& value) { axes[key] = value; },
            axis.help)
        ->type_name(axis.values);
  };
  each_axis([&](const auto& axis) {
    if (!is_listed(axis.use)) return;
    add_axis(list_flag(axis), options.axes)
        ->group("Axes (lists such as 1,2,4 or 8:64:8; those left out are searched)");
  });
  const std::string shape_group = "Shape of the model (lists; those left out are as the model's)";
  for (const ListFlag& axis : kShapeAxes) {
    add_axis(axis, options.shape_axes)->group(shape_group);
  }
  command
      .add_option("--parameters", options.parameters,
                  "parameters that every shape must have (default: as many as the model)")
      ->check(positive_amount())
      ->group(shape_group);
  command
      .add_option("--parameters-tolerance", options.parameters_tolerance,
                  "by what share of them a shape may miss that (default: 0.05)")
      ->check(CLI::Range(0.0, 1.0))
      ->group(shape_group);
  add_shared_axes(command, options.request.overrides, "objective");
  const auto is_one = [](const std::string& text) {
    const bool several = text.find_first_of(":,-") != std::string::npos;
    return several ? "one number would do; --nodes 1:8 searches several" : std::string();
  };
  command.add_option("--gpus", options.gpus, "as many GPUs, on whole nodes")
      ->check(CLI::Validator(is_one, ""))
      ->check(CLI::Range(1, 1 << 24))
      ->excludes("--nodes");
  command.add_option("--max-nodes", options.max_nodes, "any number of nodes up to this")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes("--nodes", "--gpus");
  command.add_option("--reserve", options.reserve, "nodes to keep free of those")
      ->check(CLI::Range(0, 1 << 20));
  command.add_flag("--everything", options.everything,
                   "search all values of all axes, whether the stack offers them or not");
  command
      .add_option("--require", options.requirements,
                  "a condition on plans, e.g. 'gbs % 32 == 0 && mem_gib < 70' (repeatable)")
      ->type_name("EXPR")
      ->allow_extra_args(false);
  command
      .add_option("--plans", options.plans,
                  "rank the plans of this table (columns named as the plan's fields, or layers, "
                  "hidden and heads); flags say what its rows leave out")
      ->type_name("FILE.csv")
      ->excludes("--parameters", "--parameters-tolerance", "--max-nodes", "--reserve",
                 "--everything");
  command
      .add_option("--explain", options.explain,
                  "say why this layout is not the best, e.g. tp=8,pp=12 (repeatable)")
      ->type_name("AXIS=VALUE,...")
      ->allow_extra_args(false)
      ->excludes("--plans");
  command.add_flag("--pareto", options.pareto,
                   "show the plans that no other beats in time, memory and nodes at once");
  command
      .add_option("--memory-headroom", options.memory_headroom,
                  "share of the device's memory that must stay free")
      ->check(share_below_one());
  command
      .add_option("--objective", options.objective,
                  "goal that ranks plans (the loss has its own: --set plan.objective=dpo)")
      ->type_name("time|tokens|gpu-hours|cost|days|energy")
      ->check(
          CLI::IsMember({"time", "tokens", "gpu-hours", "cost", "days", "energy"}).description(""));
  CLI::Option* tokens =
      command.add_option("--tokens", options.tokens, "tokens of the whole training: 15T")
          ->transform(spelled_amount());
  command.add_option("--price", options.price, "price of one GPU-hour")
      ->check(positive_amount())
      ->needs(tokens);
  command
      .add_option_function<std::vector<std::string>>(
          "--price-of",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) add_price(text, options.prices);
          },
          "price of one GPU-hour on one of several clusters (repeatable)")
      ->type_name("CLUSTER=PRICE")
      ->allow_extra_args(false)
      ->needs(tokens);
  command
      .add_option_function<std::string>(
          "--within",
          [&options](const std::string& text) { options.within = duration("--within", text); },
          "the whole training must not take longer; on any number of nodes, unless that is said")
      ->type_name("30d|12h|90m")
      ->needs(tokens);
  command
      .add_flag("--fewest-gpus", options.fewest_gpus,
                "rank by GPUs, then by seconds, on any number of nodes, unless that is said")
      ->excludes("--objective");
  command
      .add_option("--risk", options.risk,
                  "only plans that fit with this probability (0.95; 0 ranks all that may fit)")
      ->check(CLI::Range(0.0, 0.999));
  add_site_flags(command, options.reservation, tokens);
  command.add_flag("--unfold", options.unfold,
                   "a row for each plan, not one for all that differ in layout string, chunks and "
                   "recomputed modules only");
  command.add_option("--top", options.top, "plans to print")->check(CLI::Range(1, 100000));
  command
      .add_option("--try", options.try_first,
                  "how many plans to name that should be run first, as the best is most probably "
                  "among them (3); 0: the ranking alone, without odds, front and bottlenecks, in a "
                  "fraction of the time")
      ->check(CLI::Range(0, 30));
  add_set(command, options.request.overrides);
  add_report(command, options.report);
  add_format(command, options.format, true);
  add_emit(command, options.emit, {"--json", "--csv", "--explain", "--pareto"});
  for (const char* no_table : {"--explain", "--pareto"}) {
    command.get_option("--csv")->excludes(command.get_option(no_table));
  }
  command.callback(action);
}

}  // namespace prequel
