#include "sim/answer/slopes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "hw/base/portable_math.hpp"
#include "models/layers/parts.hpp"
#include "sim/step/plan_memory.hpp"
#include "sim/step/step.hpp"

namespace prequel {
namespace {

constexpr double kStep = 0.35;  ///< of a difference, in deviations

/// Tests whether a change of the constant can change the plan's time at all.
bool is_felt(const Scenario& scenario, Uncertain constant) {
  const Plan& plan = scenario.plan;
  switch (constant) {
    case Uncertain::node_links: return plan.gpus > 1;
    case Uncertain::network:
    case Uncertain::latency: return plan.gpus > scenario.cluster.devices_per_node;
    case Uncertain::rank_limit:
      return plan.gpus > scenario.cluster.devices_per_node &&
             scenario.software.communication.rank_rate_limit.value > 0;
    case Uncertain::blocking: return scenario.software.host.launch == Launch::blocking;
    case Uncertain::offload: return uses_host_memory(plan);
    case Uncertain::optimizer: return plan.offload == Offload::none;
    default: return true;
  }
}

/// Layer prices with their products, or their launches, slower by a factor.
LayerCosts with_products(LayerCosts layers, double factor) {
  each_part([&](Part part) {
    for (PassCost* pass : {&layers[part].forward, &layers[part].backward}) {
      const double products = pass->compute + pass->recompute - pass->attention - pass->stream;
      pass->compute += (factor - 1.0) * products;
      pass->weight_gradient *= factor;
    }
  });
  return layers;
}

LayerCosts with_launches(LayerCosts layers, double factor) {
  each_part([&](Part part) {
    for (PassCost* pass : {&layers[part].forward, &layers[part].backward}) {
      pass->host *= factor;
      pass->weight_gradient_host *= factor;
      pass->host_beside *= factor;
    }
  });
  return layers;
}

double launch_seconds(const HostStack& host) {
  return (host.launch == Launch::blocking ? host.blocking_launch_per_layer
                                          : host.async_launch_per_layer)
      .value;
}

/// The layers' prices after one constant moved, where possible without pricing them again: products
/// and launches are proportional to one number each, and some constants are of no layer.
LayerCosts layers_after(const Scenario& before, const LayerCosts& layers, const Scenario& after,
                        Uncertain constant) {
  // Launches that are counted run ahead of the device: they show where they are the slower.
  const bool counted = before.software.host.one_launch.value > 0;
  switch (constant) {
    case Uncertain::gemm:
      if (counted) return price_layers(after);
      return with_products(layers, after.software.kernels.gemm_time_factor /
                                       before.software.kernels.gemm_time_factor);
    case Uncertain::host: {
      const double launches = launch_seconds(before.software.host);
      if (launches <= 0 || counted) return price_layers(after);
      return with_launches(layers, launch_seconds(after.software.host) / launches);
    }
    case Uncertain::network:
    case Uncertain::latency:
      // Groups of a layer inside a node know no network.
      return layer_question(before.plan, before.cluster).in_node(before.cluster)
                 ? layers
                 : price_layers(after);
    case Uncertain::optimizer:
    case Uncertain::overlap:
    case Uncertain::fixed:
    case Uncertain::rank_limit: return layers;
    case Uncertain::offload:
      return offloads_activations(before.plan) ? price_layers(after) : layers;
    default: return price_layers(after);
  }
}

/// The most memory that any stage needs, and what is printed, with one constant moved.
std::pair<double, double> log_memory(const Scenario& scenario, const Prediction& prediction) {
  std::vector<InFlight> in_flight;
  for (const StagePrediction& stage : prediction.stages) {
    in_flight.push_back(stage.in_flight);
  }
  const PlanMemory memory = plan_memory(scenario, weights_of(scenario), in_flight);
  double needed = 0.0;
  for (const StageMemory& stage : memory.stages) {
    needed = std::max(needed, stage.needed().value);
  }
  return {portable::log(memory.peak.value), portable::log(needed)};
}

}  // namespace

namespace {

/// Calls `visit` for each constant of time, or of memory, that the plan can feel: with the scenario
/// above and below it, and the difference.
template <class Visit>
void each_moved(const Scenario& scenario, const Uncertainty& uncertainty, const Spread& spread,
                bool of_memory, const Visit& visit) {
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto constant = Uncertain(i);
    if (constant == Uncertain::all || constant == Uncertain::peak) continue;
    if ((constant >= Uncertain::framework) != of_memory || !is_felt(scenario, constant)) continue;
    const double step = kStep * std::sqrt(spread.covariance[i][i]);
    if (step <= 0) continue;
    Scenario above = scenario, below = scenario;
    move(above, uncertainty, constant, step);
    move(below, uncertainty, constant, -step);
    visit(constant, above, below, 2.0 * step);
  }
}

}  // namespace

MemorySlopes memory_slopes_of(const Scenario& scenario, const Prediction& prediction,
                              const Uncertainty& uncertainty, const Spread& spread) {
  MemorySlopes slopes;
  slopes.printed[index_of(Uncertain::peak)] = slopes.needed[index_of(Uncertain::peak)] = 1.0;
  each_moved(scenario, uncertainty, spread, true,
             [&](Uncertain constant, const Scenario& above, const Scenario& below, double apart) {
               const auto [printed_above, needed_above] = log_memory(above, prediction);
               const auto [printed_below, needed_below] = log_memory(below, prediction);
               slopes.printed[index_of(constant)] = (printed_above - printed_below) / apart;
               slopes.needed[index_of(constant)] = (needed_above - needed_below) / apart;
             });
  return slopes;
}

Deviations time_slopes_of(const Scenario& scenario, const Uncertainty& uncertainty,
                          const Spread& spread) {
  const LayerCosts layers = price_layers(scenario);
  const auto log_seconds = [&](const Scenario& after, Uncertain constant) {
    return portable::log(
        iteration_time(after, layers_after(scenario, layers, after, constant)).value);
  };
  Deviations slopes{};
  slopes[index_of(Uncertain::all)] = 1.0;
  each_moved(scenario, uncertainty, spread, false,
             [&](Uncertain constant, const Scenario& above, const Scenario& below, double apart) {
               slopes[index_of(constant)] =
                   (log_seconds(above, constant) - log_seconds(below, constant)) / apart;
             });
  return slopes;
}

}  // namespace prequel
