#pragma once

/// The stack of a run that names none.

#include <string>

#include "hw/cluster.hpp"
#include "models/axes/axes.hpp"

namespace prequel {

class Library;

/// Tests whether adapters learn on ranks that hold whole matrices, layers and sequences, as PEFT
/// trains them.
bool trains_whole_adapters(const PlanRequest& plan);

/// Returns the stack by which such adapters are usually trained: that of
/// data/stand_ins/stacks.json.
std::string adapter_software(const Library& library);

/// Returns the stack by which such a run is usually trained: the cluster's for its kind of model,
/// or that of adapters on whole matrices.
std::string usual_software(const Library& library, const Cluster& cluster, bool has_experts,
                           const PlanRequest& plan);

}  // namespace prequel
