#pragma once

#include <string>

#include "cli/options.hpp"

namespace prequel {

struct CompareOptions {
  std::string first, second;  ///< a job, what is changed of it, or both: "JOB,tp=4,cluster=NAME"
  JobRequest request;         ///< what both share
  ScriptInputs script;
  OutputFormat format{};
};

int run_compare(const CommonOptions& common, const CompareOptions& options);

}  // namespace prequel
