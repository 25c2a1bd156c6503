#pragma once

/// Inputs of a search from the files that ship.

#include <string>

#include "sim/search/search.hpp"
#include "tests/scenarios.hpp"

namespace prequel {

inline SearchInputs shipped_inputs(const std::string& model, const std::string& cluster,
                                   std::int64_t gbs, const std::string& software = {}) {
  const Job job = job_of(model, cluster, software);
  SearchInputs inputs{job, job.plan};
  inputs.fixed.gbs = gbs;
  return inputs;
}

/// All axes, on exactly this many nodes.
inline SearchAxes axes_for(const SearchInputs& inputs, std::int64_t nodes,
                           bool everything = false) {
  SearchAxes axes;
  axes.nodes = {nodes};
  axes.gbs = {*inputs.fixed.gbs};
  return fill_axes(axes, inputs, everything ? Reach::everything : Reach::usual);
}

}  // namespace prequel
