#pragma once

/// What of a plan's communication runs beside passes: what the plan names, else what the stack does
/// by itself.

#include <string>

#include "models/stack/software.hpp"

namespace prequel {

struct Plan;
struct Transformer;

/// Whether tokens leave their rank for their experts'.
bool exchanges_tokens(const Plan& plan, const Transformer& model);
/// Whether the stack can exchange tokens with experts beside another micro batch's passes.
bool overlaps_exchange(const Software& software);
/// When gradients are reduced.
GradientOverlap gradient_overlap(const Plan& plan, const Software& software);
/// Whether gradients are reduced while a backward pass runs.
bool reduces_beside(const Plan& plan, const Software& software);
/// Whether parameters are gathered while passes run that do not need them.
bool gathers_beside(const Plan& plan, const Software& software);
/// Whether a stage computes while what it sends is on its way.
bool sends_beside(const Plan& plan, const Software& software);

/// What is wrong with such a set of words: that it says a thing and its opposite; empty if nothing.
std::string overlap_problem(WordSet<Overlapped> overlap);

}  // namespace prequel
