#pragma once

/// Effects on each other of communication and kernels that run side by side.

#include "models/job/inputs.hpp"
#include "models/plan/plan.hpp"

namespace prequel {

/// Share of the shorter of a kernel and a collective side by side that both lose: as runs of the
/// software tell, else as the device's do.
double overlap_loss(const Inputs& inputs);

/// Tests whether tokens are exchanged with experts beside another micro batch's passes: the plan
/// asks for it, and the schedule has a forward and a backward to run side by side.
bool exchanges_beside(const Plan& plan);
/// The share of these exchanges that finds something to run beside it, as kernels depend on each
/// other inside a layer, too; 0 where they are inside the passes.
double exchange_beside(const Plan& plan, const CommunicationStack& stack);
/// The same of passes that do exchange beside another micro batch's.
double exchange_beside(const CommunicationStack& stack, WordSet<GraphedModule> graphs);

}  // namespace prequel
