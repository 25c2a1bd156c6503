#pragma once

/// Translation of published tables' names for the values of a plan's axes into the words of the
/// axes.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prequel {

class Library;

/// A rule of data/names/run-words.json: what it does where all of `when`, one of `any` and none of
/// `unless` hold.
struct WordRule {
  std::vector<std::string> when, any, unless;
  std::map<std::string, std::string> set, add,
      append;                            ///< words by column; `add` where it is empty
  std::vector<std::string> drop, lower;  ///< columns
  std::string column, into;  ///< whose text is translated; into another one where that is empty
  std::map<std::string, std::string> is, begins;  ///< the axis' word for a text, or its beginning
};

/// Columns of tables beside those of jobs and plans, and what their words mean.
struct RunWords {
  std::vector<std::string> columns;
  std::vector<WordRule> rules;
};

/// Throws InputError.
RunWords read_run_words(const Library& library);

/// Changes the cells of a row (by column) that launchers and release notes spell in ways of their
/// own: recipes of 8 and 4 bits, schedules, dispatchers, scopes of graphs, modules that are
/// recomputed, and flags (`tp_comm_overlap`, `a2a_overlap`, `grad_reduce_fp32`, `moments_dtype`)
/// that are part of an axis. Cells that the axes know already stay.
void translate_cells(const RunWords& words, std::map<std::string, std::string>& cells);

/// The kernel that an `attention` of a row names ("fa3": "flash-3"), in the words of devices; empty
/// where it names none ("flash"), and the stack's own is meant.
std::optional<std::string> attention_kernel(const std::string& said);

/// Tests whether notes say that memory is that of the fullest rank, not of the one that logs.
bool is_of_fullest_rank(const std::string& notes);

}  // namespace prequel
