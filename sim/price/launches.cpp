#include "sim/price/launches.hpp"

#include <algorithm>

#include "models/layers/adapter.hpp"
#include "sim/price/side_by_side.hpp"

namespace prequel {
namespace {

/// Launches of a block of that kind.
LaunchCounts launches_of(const LayerKind kind, const Transformer& model,
                         const LayerQuestion& question, const LayerLaunches& launches) {
  const LayerSetting& setting = question.setting;
  const WordSet<GraphedModule> graphs = setting.graphs;
  if (graphs.has(GraphedModule::full)) return {};
  const bool casts = is_quantized(setting.products);
  // A graph is one launch, and each copy into its buffers another.
  const GraphCopies copies = graph_copies(model, kind, graphs);
  LaunchCounts all;
  if (copies.inputs > 0) all += {1 + copies.inputs, 1 + copies.results};
  const GraphedModule of_mixer =
      is_softmax(kind.mixer) ? GraphedModule::attn : GraphedModule::mamba;
  if (kind.mixer != Mixer::none && !graphs.has(of_mixer)) {
    all += launches.attention();
  }
  if (kind.feed == Feed::none) return all;
  if (kind.feed == Feed::mlp) {
    if (graphs.has(GraphedModule::mlp)) return all;
    all += launches.mlp();
    return all;
  }
  if (graphs.has(GraphedModule::moe)) return all;
  all += launches.experts;
  if (graphs.has(GraphedModule::moe_router)) all += -1.0 * launches.router();
  // At a fixed capacity the tokens of all experts are one tensor.
  const double local = setting.fixed_capacity ? 0.0 : real(model.experts.count / setting.ep);
  constexpr LaunchCounts kProducts{2, 4};  // into an expert and out of it; both gradients
  double each = launches.expert_product.product;
  if (casts) each += launches.expert_product.casts;
  if (casts && setting.casts == CastRecipe::current) each += launches.expert_product.amax;
  all += local * each * kProducts;
  if (model.experts.shared_hidden > 0) all += launches.mlp();
  if (setting.ep > 1 && setting.dispatcher == Dispatcher::alltoall) all += launches.alltoall;
  return all;
}

/// Launches of what context ranks exchange beside those of attention alone. A ring has slices and
/// copies of queries, keys and values a step, its kernels, and sums of results with their scales.
/// Where heads change places with tokens, each of four tensors is copied, sent and put in order.
LaunchCounts context_launches(const LayerQuestion& question, const CommonStack& common) {
  const LayerSetting& setting = question.setting;
  const bool in_graph =
      setting.graphs.has(GraphedModule::full) || setting.graphs.has(GraphedModule::attn);
  if (setting.cp == 1 || in_graph) return {};
  switch (setting.context_comm) {
    case ContextComm::p2p:
    case ContextComm::a2a_p2p: return real(setting.cp) * common.ring_step;
    case ContextComm::a2a: return common.head_exchange;
    case ContextComm::all_gather: return {};
  }
  return {};
}

/// The host's work for a pass.
struct PassLaunches {
  double layers{}, launches{}, lost_share{}, count_wait{};
  double beside{};            ///< share of what experts exchange that keeps no kernel waiting
  double count_wait_left{1};  ///< share of `count_wait` that another micro batch beside it leaves
  Seconds tensor_collective;  ///< what each collective of the tensor group costs besides its launch
};

/// The time of kernels that the host launches one after another.
struct LaunchedKernels {
  double all{}, exchange{}, weight_gradients{};  ///< s
  double weight_share{};                         ///< of the kernels: products for weights
  std::int64_t tensor_collectives{};

  explicit LaunchedKernels(const KernelCosts& kernels) {
    double products = 0;
    for (const KernelCost& kernel : kernels) {
      all += kernel.seconds;
      if (kernel.kind == WorkKind::expert_comm) exchange += kernel.seconds;
      if (kernel.kind == WorkKind::tensor_comm) ++tensor_collectives;
      if (!kernel.weight_gradient) continue;
      weight_gradients += kernel.seconds;
      ++products;
    }
    if (products > 0) weight_share = products / real(kernels.size());
  }
};

/// Adds what a pass waits for the host: as stated by the layer, or by the rule of HostStack. Waits
/// for products of weights are a kernel of their own: schedules may run these apart.
HostPass add_waits(KernelCosts& kernels, const Inputs& inputs, const PassLaunches& pass) {
  const HostStack& host = inputs.software.host;
  const bool blocking = host.launch == Launch::blocking;
  const double whole = pass.layers * host.blocking_launch_per_layer.value;
  const double stated = blocking ? whole : pass.layers * host.async_launch_per_layer.value;
  const LaunchedKernels launched(kernels);
  double busy = 0;
  if (host.one_launch.value > 0) {
    busy = host.one_launch.value * inputs.cluster.host.launch_factor * pass.launches +
           real(launched.tensor_collectives) * pass.tensor_collective.value;
  }
  const auto waits_beside = [&](double device) {
    return busy > 0 ? std::max(0.0, busy - device) + pass.lost_share * std::min(device, busy) : 0.0;
  };
  const double waits = waits_beside(launched.all);
  const double more = waits_beside(launched.all - pass.beside * launched.exchange) - waits;
  // The host launches kernels in their order: those for weights wait for their own launches, and
  // the others for the rest.
  const double share = launched.weight_share;
  const double late = std::max(0.0, busy - launched.all);
  const double of_weights = share * (stated + waits - late) +
                            std::clamp(share * busy - launched.weight_gradients, 0.0, late);
  const double others = stated + waits + pass.count_wait - of_weights;
  if (others > 0) kernels.push_back({"launches", others, WorkKind::host});
  if (of_weights > 0) {
    kernels.push_back({"launches", of_weights, WorkKind::host, 0.0, false, true});
  }
  const double counts = pass.count_wait_left * pass.count_wait;
  return {blocking ? 0.0 : whole + busy + counts, more + counts - pass.count_wait};
}

/// Waits of a forward pass over experts for the token counts of other ranks, unless a graph or a
/// capacity has settled them.
double count_wait(const Software& software, LayerKind kind, const LayerQuestion& question) {
  const LayerSetting& setting = question.setting;
  const bool counts =
      kind.has_experts() && !setting.fixed_capacity && !setting.graphs.has(GraphedModule::full);
  if (!counts || setting.ep == 1) return 0;
  return software.host.count_wait.value;
}

double lost_share(const HostStack& host, LayerKind kind, const LayerSetting& setting) {
  if (!kind.has_experts() || setting.fixed_capacity) return host.lost_share;
  const bool waits =
      setting.dispatcher == Dispatcher::deepep || setting.dispatcher == Dispatcher::uccl;
  return waits && setting.ep > 1 ? host.deepep_lost_share : host.lost_share;
}

}  // namespace

void add_launches(const LaunchedBlock& block, const LayerQuestion& question, const Inputs& inputs,
                  PartKernels& kernels) {
  const auto& [layer, kind, back, tensor_collective] = block;
  const Software& software = inputs.software;
  const LayerSetting& setting = question.setting;
  const bool whole = question.repeated == WordSet<Module>::all();
  const double again = whole ? question.repeated_blocks : 0.0;
  LaunchCounts launches = launches_of(kind, inputs.model, question, software.host.launches);
  if (!setting.graphs.has(GraphedModule::full)) {
    launches += real(layer.adapters) * adapter_launches(setting.learning, software);
  }
  if (is_softmax(kind.mixer)) launches += context_launches(question, software.common);
  const double wait = count_wait(software, kind, question);
  const double lost = lost_share(software.host, kind, setting);
  const double beside =
      question.beside ? exchange_beside(software.communication, setting.graphs) : 0.0;
  const double left = question.beside ? software.common.count_wait_beside : 1.0;
  const double layers = kind.sublayers() / 2.0;  // stacks state what a usual block launches
  kernels.host_forward =
      add_waits(kernels.forward, inputs,
                {layers, launches.forward, lost, wait, beside, left, tensor_collective});
  if (layer.detached) return;
  kernels.host_backward =
      add_waits(kernels.backward, inputs,
                {layers * (back + again), launches.backward + again * launches.forward, lost,
                 again * wait, beside, left, tensor_collective});
}

}  // namespace prequel
