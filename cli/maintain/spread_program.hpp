#pragma once

/// How far constants lie from one stack to the next, found from tables of measured runs.

#include <string>
#include <vector>

namespace prequel {

struct SpreadOptions {
  std::vector<std::string> data_directories;
  std::vector<std::string> files;
  std::string output;                ///< file for the priors with the new spreads; empty: none
  bool stacks_only{};                ///< leave the constants' spreads as they are
  std::vector<std::string> fold_by;  ///< what rows share that intervals are to leave out
  bool json{};
};

/// Prints the spreads that the tables tell and writes the priors' file. Throws InputError.
void run_spread(const SpreadOptions& options);

}  // namespace prequel
