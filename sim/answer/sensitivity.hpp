#pragma once

/// Gain of an iteration from a little more of each resource.

#include <string>
#include <vector>

#include "sim/price/pricing.hpp"

namespace prequel {

struct Sensitivity {
  std::string resource;   ///< "matrix rate"
  double sec_per_iter{};  ///< with that much more of it
};

/// The iteration with `more` times the matrix rate, memory bandwidth, links inside a node, network
/// between nodes and host speed in turn; 1.1 is 10 % more. Throws as `predict`.
std::vector<Sensitivity> sensitivity(const Scenario& scenario, double more = 1.1);

}  // namespace prequel
