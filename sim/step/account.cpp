#include "sim/step/account.hpp"

#include <algorithm>

#include "sim/engine/accounting_clock.hpp"
#include "sim/engine/clock.hpp"
#include "sim/step/tell_step.hpp"

namespace prequel {
namespace {

/// The uses of a step's time.
enum class Spent : Use {
  waiting = AccountingClock::kWaiting,
  passes,
  beside,  ///< passes that run side by side
  pipeline,
  exchange,
  data,
  copies,
  optimizer
};
constexpr std::size_t kSpent = 8;

PricedUse use_of(const TaskTraits& task) {
  const auto use = [](Spent spent, bool communicates) {
    return PricedUse{static_cast<Use>(spent), communicates};
  };
  if (task.kind == TaskKind::forward_beside || task.kind == TaskKind::backward_beside) {
    return use(Spent::beside, false);
  }
  if (task.is_pass()) return use(Spent::passes, false);
  if (task.is_send()) return use(Spent::pipeline, true);
  if (task.is_exchange()) return use(Spent::exchange, true);
  if (task.is_copy()) return use(Spent::copies, true);
  if (task.kind == TaskKind::optimizer) return use(Spent::optimizer, false);
  return use(Spent::data, true);
}

/// By PriceId.
std::vector<PricedUse> uses_of(const PipelineShape& shape) {
  std::vector<PricedUse> uses;
  uses.reserve(std::size_t{kTaskKinds} * shape.blocks());
  for (const TaskTraits& task : kTasks) uses.insert(uses.end(), shape.blocks(), use_of(task));
  return uses;
}

/// The passes of a stage over all its blocks, in one iteration.
PassCost passes_of(const Step& step, std::uint32_t stage) {
  PassCost all;
  const PipelineShape& shape = step.shape;
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    const ChunkCosts& costs = step.blocks[chunk * shape.stages + stage].costs;
    all += costs.forward;
    all += costs.backward;
  }
  const double micro_batches = shape.micro_batches;
  return (traits(step.schedule).mirrored ? micro_batches / 2 : micro_batches) * all;
}

/// The share of what the host takes more, in the passes of a stage side by side.
double host_beside(const Step& step, std::uint32_t stage) {
  double launches = 0;
  double passes = 0;
  for (std::uint32_t chunk = 0; chunk < step.shape.chunks; ++chunk) {
    const ChunkCosts& costs = step.blocks[chunk * step.shape.stages + stage].costs;
    launches += step.beside_launch_share * (costs.forward.launching + costs.backward.launching) +
                costs.forward.host_beside + costs.backward.host_beside;
    passes += step.durations.at(TaskKind::forward_beside, stage, chunk) +
              step.durations.at(TaskKind::backward_beside, stage, chunk);
  }
  return passes > 0 ? launches / passes : 0;
}

/// Returns communication that is not exposed; `busy(stream)` is what the stage's streams carry.
template <class Busy>
HiddenTime hidden_by(const Breakdown& exposed, const PassCost& passes, const Busy& busy) {
  using enum StageStream;
  const auto rest = [](double all, double exposed_part) {
    return std::max(0.0, all - exposed_part);
  };
  HiddenTime hidden;
  hidden.tp_comm = passes.hidden_tp_comm;
  hidden.cp_comm = passes.hidden_cp_comm;
  hidden.ep_comm = passes.hidden_ep_comm + rest(passes.ep_comm, exposed.ep_comm);
  hidden.pp_comm = rest(busy(send_forward) + busy(send_backward), exposed.pp_comm);
  hidden.dp_comm = rest(busy(communication), exposed.dp_comm);
  hidden.offload = rest(busy(offload) + busy(reload), exposed.offload);
  return hidden;
}

}  // namespace

PlayedStep play(const Step& step) {
  const PipelineShape& shape = step.shape;
  const auto exact = exact_durations(step.durations.values(), shape.most_runs());
  const auto uses = uses_of(shape);
  AccountingClock clock(exact, uses, kSpent, stream_count(shape));
  tell(step, clock);

  double end = 0;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    end = std::max(end, clock.finish(stream_of(StageStream::compute, stage)));
  }
  PlayedStep played{Seconds{end} + step.fixed, {}};
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const StreamId compute = stream_of(StageStream::compute, stage);
    const auto spent = [&](Spent on) {
      return clock.account(compute)[static_cast<std::size_t>(on)];
    };
    const PassCost passes = passes_of(step, stage);
    StageAccount account;
    account.busy = clock.busy(compute) - spent(Spent::optimizer);
    Breakdown& time = account.time;
    time.compute = passes.compute;
    time.recompute = passes.recompute;
    time.tp_comm = passes.tp_comm;
    time.cp_comm = passes.cp_comm;
    time.ep_comm = passes.ep_comm;
    time.host = passes.host;
    time.pp_comm = spent(Spent::pipeline);
    // Time that passes lose to communication beside them is exposed, too. Neither is below 0 but by
    // rounding.
    time.dp_comm = spent(Spent::data);
    if (shape.exchanges == Exchanges::beside) {
      // Exchanges that run beside other passes are exposed where these wait for them or run longer.
      const double all = spent(Spent::passes) + spent(Spent::beside);
      const double lost = host_beside(step, stage) * spent(Spent::beside);
      time.host += lost;
      time.ep_comm =
          std::max(0.0, spent(Spent::exchange) + all - lost - (passes.total() - passes.ep_comm));
    } else if (step.overlap_is_priced || step.copies_are_priced) {
      time.dp_comm += std::max(0.0, spent(Spent::passes) - passes.total());
    }
    time.offload = spent(Spent::copies);
    time.optimizer = spent(Spent::optimizer);
    time.bubble = spent(Spent::waiting) + (end - clock.finish(compute));
    time.other = step.fixed.value;
    account.hidden = hidden_by(
        time, passes, [&](StageStream stream) { return clock.busy(stream_of(stream, stage)); });
    played.stages.push_back(account);
  }
  return played;
}

}  // namespace prequel
