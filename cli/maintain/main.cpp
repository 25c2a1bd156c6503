/// `prequel-maintain`: makes the numbers that are shipped with prequel from its tables.

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "calibrate/spread/constant_spread.hpp"
#include "calibrate/spread/stack_spread.hpp"
#include "cli/flags/flag_checks.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/json_layout.hpp"

namespace prequel {
namespace {

struct SpreadOptions {
  std::vector<std::string> data_directories;
  std::vector<std::string> files;
  std::string output;                ///< file for the priors with the new spreads; empty: none
  bool stacks_only{};                ///< leave the constants' spreads as they are
  std::vector<std::string> fold_by;  ///< what rows share that intervals are to leave out
  bool json{};
};

using LeftOut = std::vector<std::pair<std::string, LeftOutIntervals>>;  // by what was left out

std::string report_json(const SpreadReport& report, const StackSpreadReport& stacks,
                        const LeftOut& left_out) {
  Json checked = list_json(stacks.stacks, [](const CheckedStack& one) {
    return Json{{"software", one.software},      {"experts", one.kind.experts},
                {"adapters", one.kind.adapters}, {"rows", one.time.rows},
                {"level", one.time.level},       {"noise", one.time.noise}};
  });
  // For one table, and for all.
  const auto coverage_json = [](const auto& one) {
    return Json{{"time", covered_json(one.time)},
                {"held_out", covered_json(one.held_out)},
                {"memory", covered_json(one.memory)},
                {"memory_held_out", covered_json(one.memory_held_out)}};
  };
  Json tables = list_json(stacks.tables, [&](const TableCoverage& one) {
    Json table{{"table", one.table}};
    table.update(coverage_json(one));
    return table;
  });
  Json constants = list_json(report.constants, [](const SpreadEstimate& one) {
    return Json{{"name", name(one.constant)},
                {"cases", one.cases},
                {"before", one.before},
                {"sd", one.after}};
  });
  Json cases = list_json(report.cases, [](const SpreadCase& one) {
    return Json{{"table", one.table},   {"software", one.software}, {"own", one.own},
                {"memory", one.memory}, {"rows", one.rows},         {"noise", one.noise}};
  });
  Json folds = list_json(left_out, [](const auto& one) {
    Json rows = list_json(one.second.rows, [](const LeftOutRow& row) {
      return Json{{"id", row.id}, {"error", row.error}, {"scale", row.scale}, {"basis", row.basis}};
    });
    return Json{{"by", one.first},
                {"folds", one.second.folds},
                {"time", covered_json(one.second.time)},
                {"half_width", one.second.half_width},
                {"score", one.second.score},
                {"rows", rows}};
  });
  return document_text(
      {{"schema", "prequel/spread/1"},
       {"left_out", folds},
       {"constants", constants},
       {"own_level", report.own_level},
       {"noise", {{"median", report.noise_median}, {"log_sd", report.noise_log_sd}}},
       {"cases", cases},
       {"stacks", checked},
       {"tables", tables},
       {"coverage", coverage_json(stacks)}});
}

std::string report_text(const SpreadReport& report) {
  TextTable table({"constant", "cases", "spread was", "is"});
  for (const SpreadEstimate& one : report.constants) {
    table.row(name(one.constant), one.cases, fixed(one.before, 2), fixed(one.after, 2));
  }
  std::size_t own = 0, memory = 0;
  for (const SpreadCase& one : report.cases) {
    own += one.own && !one.memory;
    memory += one.memory;
  }
  return table.text() +
         fmt::format(
             "  {} tables with the constants of other stacks, {} with their own, whose spread is "
             "{:.2f} of it, {} of memory\n  with those of other stacks {:.2f} of it covers as "
             "stated\n  scatter from run to run: median {:.1f} %, log sd "
             "{:.2f}\n",
             report.cases.size() - own - memory, own, report.own_level, memory, report.unseen_level,
             100 * report.noise_median, report.noise_log_sd);
}

std::string coverage_text(const Coverage& coverage) {
  if (coverage.n == 0) return {};
  const auto& inside = coverage.inside;
  return fmt::format("{}/{}/{}", percent(inside[0], 0), percent(inside[1], 0),
                     percent(inside[2], 0));
}

std::string kind_text(const RunKind& kind) {
  return std::string(kind.experts ? "experts" : "dense") + (kind.adapters ? ", adapters" : "");
}

std::string left_out_text(const std::string& by, const LeftOutIntervals& one) {
  return fmt::format(
      "  left out by {}: {} folds, {} rows, {} % inside, median half width {} %, score {:.3f}\n",
      by, one.folds, one.time.n, coverage_text(one.time), percent(one.half_width), one.score);
}

std::string stacks_text(const StackSpreadReport& report) {
  TextTable stacks({"stack", "of", "runs", "level", "scatter %", "with memory", "level", "%"});
  for (const CheckedStack& one : report.stacks) {
    const bool remembers = one.memory.rows > 0;
    stacks.row(one.software, kind_text(one.kind), one.time.rows, fixed(one.time.level, 2),
               percent(one.time.noise), remembers ? std::to_string(one.memory.rows) : "",
               remembers ? fixed(one.memory.level, 2) : "",
               remembers ? percent(one.memory.noise) : "");
  }
  TextTable tables(
      {"inside 50/80/95 % intervals", "runs", "time", "held out", "memory", "held out"});
  const auto add = [&](const std::string& table, const Coverage& time, const Coverage& held_out,
                       const Coverage& memory, const Coverage& memory_held_out) {
    tables.add({table, fmt::format("{}", time.n), coverage_text(time), coverage_text(held_out),
                coverage_text(memory), coverage_text(memory_held_out)});
  };
  for (const TableCoverage& one : report.tables) {
    add(one.table, one.time, one.held_out, one.memory, one.memory_held_out);
  }
  add("all", report.time, report.held_out, report.memory, report.memory_held_out);
  return stacks.text() +
         fmt::format(
             "  levels are shares of the priors' spread: {:.2f} for a checked stack before its "
             "runs, "
             "{:.2f} for one that was not (of memory {:.2f} and {:.2f})\n"
             "  runs of a stack share an error on a cluster: sd {:.1f} % (of memory {:.1f} %)\n\n",
             report.own, report.other, report.own_memory, report.other_memory, 100 * report.cluster,
             100 * report.cluster_memory) +
         tables.text();
}

Json known_json(const KnownSpread& known) {
  return {
      {"level", rounded(known.level, 2)}, {"noise", rounded(known.noise, 2)}, {"rows", known.rows}};
}

/// The priors with the spreads that were found, as their file will say them.
Uncertainty with_spreads(Uncertainty present, const SpreadReport& report) {
  for (const SpreadEstimate& one : report.constants) {
    if (!one.sought) continue;
    present.constants[static_cast<std::size_t>(one.constant)].sd = rounded(one.after, 2);
  }
  return present;
}

/// The priors' file with the spreads that were found, where any case told of them.
std::string updated_priors(const Document& priors, const SpreadReport& report,
                           const StackSpreadReport& stacks, std::size_t tables) {
  Json json = Json::parse(read_file(priors.file()));
  for (const SpreadEstimate& one : report.constants) {
    if (one.sought) {
      json["constants"][std::string(name(one.constant))]["sd"] = rounded(one.after, 2);
    }
  }
  json["memory_noise"] = {{{"weight", stacks.memory_noise.weight},
                           {"median", rounded(stacks.memory_noise.median, 2)},
                           {"log_sd", rounded(stacks.memory_noise.log_sd, 2)}}};
  json["levels"]["own"] = rounded(stacks.own, 2);
  json["levels"]["own_memory"] = rounded(stacks.own_memory, 2);
  json["levels"]["other"] = rounded(stacks.other, 2);
  json["levels"]["other_memory"] = rounded(stacks.other_memory, 2);
  if (report.unseen_level > 0) json["levels"]["unseen"] = rounded(report.unseen_level, 2);
  Json checked = Json::array();
  for (const CheckedStack& one : stacks.stacks) {
    Json clusters = Json::array();
    for (const CheckedCluster& cluster : one.clusters) {
      clusters.push_back({{"name", cluster.name},
                          {"time", rounded(cluster.time, 2)},
                          {"memory", rounded(cluster.memory, 2)}});
    }
    checked.push_back({{"software", one.software},
                       {"experts", one.kind.experts},
                       {"adapters", one.kind.adapters},
                       {"clusters", clusters},
                       {"releases", one.releases},
                       {"time", known_json(one.time)},
                       {"memory", known_json(one.memory)}});
  }
  json["checked"] = std::move(checked);
  Json families = Json::array();
  for (const KnownFamily& one : stacks.families) {
    families.push_back({{"framework", one.framework},
                        {"experts", one.kind.experts},
                        {"adapters", one.kind.adapters},
                        {"cell_sd", rounded(one.cell_sd, 2)},
                        {"nodes", one.nodes},
                        {"ep", one.ep},
                        {"cp", one.cp},
                        {"seq_len", one.seq_len},
                        {"cells", one.cells}});
  }
  json["families"] = std::move(families);
  json["levels"]["origin"] = fmt::format("`prequel-maintain spread` over {} tables", tables);
  return laid_out(json, 500);
}

/// Prints the spreads that the tables tell and writes the priors' file. Throws InputError.
void run_spread(const SpreadOptions& options) {
  const Library library(options.data_directories);
  std::vector<MeasuredRun> runs;
  for (const std::string& file : options.files) {
    std::vector<MeasuredRun> table = read_measured_runs(file, library);
    std::move(table.begin(), table.end(), std::back_inserter(runs));
  }
  const Document priors = library.open("uncertainty", "priors");
  const Uncertainty present = read_uncertainty(priors);
  const SpreadReport report =
      options.stacks_only ? SpreadReport{} : estimate_spread(library, runs, present);
  const Uncertainty found = with_spreads(present, report);
  const std::vector<ValidatedRun> validated =
      validate_runs(library, std::move(runs), {}, found, {});
  const StackSpreadReport stacks = stack_spreads(validated, found);
  LeftOut left_out;
  for (const std::string& by : options.fold_by) {
    left_out.emplace_back(by, left_out_intervals(library, validated, found, by));
  }
  if (options.json) {
    fmt::print("{}", report_json(report, stacks, left_out));
  } else {
    fmt::print("{}{}", options.stacks_only ? "" : report_text(report) + "\n", stacks_text(stacks));
    for (const auto& [by, one] : left_out) fmt::print("{}", left_out_text(by, one));
  }
  if (!options.output.empty()) {
    write_file(options.output, updated_priors(priors, report, stacks, options.files.size()));
  }
}

}  // namespace
}  // namespace prequel

int main(int argc, char** argv) {
  using namespace prequel;
  CLI::App app("Makes the numbers that are shipped with prequel.", "prequel-maintain");
  app.require_subcommand(1);
  SpreadOptions options;
  CLI::App& spread = *app.add_subcommand(
      "spread", "How far constants lie from one stack to the next, from tables of measured runs");
  spread.footer("  prequel-maintain spread data/runs/*.csv --stacks-only --output priors.json");
  spread.add_option("files", options.files, "tables of measured runs (CSV)")->required();
  spread.add_option("--data-dir", options.data_directories, "look here first for files of data")
      ->allow_extra_args(false);
  spread
      .add_option("--output", options.output, "write data/uncertainty/priors.json with them here")
      ->check(file_beside_answer());
  spread.add_flag("--stacks-only", options.stacks_only,
                  "find only how well each stack is known; the spreads of constants stay");
  spread
      .add_option("--fold-by", options.fold_by,
                  "also the intervals of rows whose model, card, cluster or release is left out")
      ->check(CLI::IsMember({"model", "card", "cluster", "software"}));
  spread.add_flag("--json", options.json, "print the report as one JSON document");
  try {
    app.parse(argc, argv);
    run_spread(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "prequel-maintain: {}\n", error.what());
    return kExitBadInput;
  }
  return kExitDone;
}
