#pragma once

/// How well each stack is known: what of the priors' spread its runs leave, and how they scatter.

#include <string>
#include <vector>

#include "calibrate/validation.hpp"

namespace prequel {

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
  double other{};         ///< of one that was not: at which rows held out are covered as stated
  double other_memory{};  ///< likewise, of memory
  std::vector<TableCoverage> tables;
  Coverage time, held_out, memory, memory_held_out;  ///< of all rows
};

/// For each stack and kind of model, the level and the scatter that are most probable for the
/// errors of its rows, under a Student t whose squared scale is level² times the constants' prior
/// variance plus scatter². Levels are log-normal around a common one, which is found from the
/// stacks of ten rows and more; scatter has the prior of the file. Rows apart do not count, and of
/// a table no more than 20 where rows are held out.
StackSpreadReport stack_spreads(const std::vector<ValidatedRun>& runs,
                                const Uncertainty& uncertainty);

}  // namespace prequel
