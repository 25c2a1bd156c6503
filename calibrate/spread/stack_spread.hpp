#pragma once

/// How well each stack is known: what of the priors' spread its runs leave, and how they scatter.

#include <string>
#include <vector>

#include "calibrate/validate/validation.hpp"

namespace prequel {

/// The prior of memory's scatter before any table tells of it.
inline constexpr NoisePart kMemoryNoiseGuess{1.0, 0.05, 0.5};

/// Rows of a table, at most, in a coverage that weighs tables.
inline constexpr std::size_t kCountedRows = 20;

/// Intervals of one table.
struct TableCoverage {
  std::string table;  ///< its file
  Coverage time;      ///< with all that is known
  Coverage held_out;  ///< with what the other tables say, its own rows not used
  Coverage memory, memory_held_out;
};

struct StackSpreadReport {
  std::vector<CheckedStack> stacks;
  double own{};           ///< level of a stack that was checked, before its rows are seen
  double own_memory{};    ///< likewise, of memory
  double other{};         ///< of one that was not: at which rows held out are covered as stated
  double other_memory{};  ///< likewise, of memory
  double cluster{};       ///< sd of what the runs of a stack share on a cluster, over clusters
  double cluster_memory{};
  NoisePart memory_noise;  ///< scatter of memory, over the stacks
  std::vector<KnownFamily> families;
  std::vector<TableCoverage> tables;
  Coverage time, held_out, memory, memory_held_out;  ///< of all rows
};

/// For each stack and kind of model, the level and the scatter that are most probable for the
/// errors of its rows, under a Student t whose squared scale is level² times the constants' prior
/// variance plus scatter², around what the rows of each cluster share. Levels are log-normal around
/// a common one, shared errors normal around 0; both are found from the stacks of ten rows and
/// more, and so is the prior of memory's scatter, while that of time's is the file's. A cluster is
/// then as uncertain as what its rows share is large. A stack that was not checked on a cluster
/// takes the level at which as many rows as stated lie inside, held out by table, whether all count
/// or no more than 20 of a table. Rows apart do not count.
StackSpreadReport stack_spreads(const std::vector<ValidatedRun>& runs,
                                const Uncertainty& uncertainty);

/// Returns `present` with what runs tell of stacks, kinds and memory's scatter.
Uncertainty with_stacks(Uncertainty present, const StackSpreadReport& report);

/// A row that was left out, and how sure its answer was.
struct LeftOutRow {
  std::string id;
  double error{};  ///< ln(predicted / measured)
  double scale{};  ///< that the answer states on that side
  std::string basis;
};

/// Intervals of answers to rows whose model, card, cluster or release no run was of.
struct LeftOutIntervals {
  std::size_t folds{};
  Coverage time;
  double half_width{};  ///< median of 80 % intervals
  double score{};  ///< mean interval score of ln seconds at 80 %: width, and 10 times each miss
  std::vector<LeftOutRow> rows;
};

/// Leaves out the rows of each value of `by` (model, card, cluster or software) in turn, learns
/// stacks from the rest, and states the intervals of what was left out.
LeftOutIntervals left_out_intervals(const Library& library, const std::vector<ValidatedRun>& runs,
                                    const Uncertainty& uncertainty, const std::string& by);

}  // namespace prequel
