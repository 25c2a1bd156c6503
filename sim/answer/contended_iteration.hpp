#pragma once

/// Time of an iteration whose simultaneous tasks share links and devices.

#include "models/job/what_if_question.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// Seconds. The prediction's clock, which prices each task by itself, and `links`, `overlap` and
/// `launches` add up to the first.
struct ContendedIteration {
  double seconds{};   ///< of the iteration
  double links{};     ///< sharing links as flows come and go; the clock has all stages send at once
  double overlap{};   ///< kernels and collectives that slow each other while they overlap
  double launches{};  ///< waiting for a host that runs ahead, but not far enough
};

/// Plays the iteration on an event queue, with one rank for all that are alike in a stage:
///
/// - What a stage sends between nodes loads the links of the fabric by the routes of all its ranks;
///   flows share links max-min fairly, as they come and go.
/// - Reductions and gathers slow the kernels of their device by the loss that was fitted on the
///   software, else by the device's. Sends are copies and slow nothing. Where the clock prices the
///   fitted loss into each task, as it was fitted, nothing is lost twice.
/// - With asynchronous launches the host takes the time that it takes where it waits for each
///   kernel, but runs ahead of the device.
///
/// The question may only degrade links. Throws InputError for what one rank a stage cannot say:
/// slow nodes, jitter, tensor-parallel groups that span nodes.
ContendedIteration contended_iteration(const Scenario& scenario, const WhatIf& question);

}  // namespace prequel
