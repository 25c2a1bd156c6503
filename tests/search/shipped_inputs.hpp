#pragma once

/// Inputs of a search from the files that ship.

#include <string>

#include "models/job/library.hpp"
#include "sim/search/search.hpp"

namespace prequel {

inline SearchInputs shipped_inputs(const std::string& model, const std::string& cluster,
                                   std::int64_t gbs, const std::string& software = {}) {
  JobRequest request;
  request.model = model;
  request.cluster = cluster;
  if (!software.empty()) request.software = software;
  Job job = read_job(Library({PREQUEL_DATA_DIR}), request);
  SearchInputs inputs{job.model, job.device, job.cluster, job.software, job.plan};
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
