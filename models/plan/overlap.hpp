#pragma once

/// Communication of a plan that runs beside passes: as the plan names it, else as the stack does by
/// itself.

#include <string>

#include "models/stack/software.hpp"

namespace prequel {

struct Plan;
struct Transformer;

/// Tests whether tokens leave their rank for their experts'.
bool exchanges_tokens(const Plan& plan, const Transformer& model);
/// When gradients are reduced.
GradientOverlap gradient_overlap(const Plan& plan, const Software& software);
/// Tests whether gradients are reduced while a backward pass runs.
bool reduces_beside(const Plan& plan, const Software& software);
/// Tests whether parameters are gathered while passes run that do not need them.
bool gathers_beside(const Plan& plan, const Software& software);
/// Tests whether a stage computes while its messages are on their way.
bool sends_beside(const Plan& plan, const Software& software);

/// Returns the problem of such a set of words: it says a thing and its opposite; empty if it has
/// none.
std::string overlap_problem(WordSet<Overlapped> overlap);

}  // namespace prequel
