#include "sim/price/pricing.hpp"

#include <algorithm>

#include "models/layers/adapter.hpp"
#include "models/layers/kept.hpp"
#include "sim/price/operator_pricer.hpp"
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
HostPass add_launches(KernelCosts& kernels, const Inputs& inputs, const PassLaunches& pass) {
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

/// Returns seconds of copies. Activations that wait in host memory go there beside the forward pass
/// and comes back beside the backward one: of modules of each layer, or of whole layers that lie
/// spread among those that stay.
double activation_copies(const Inputs& inputs, const Layer& layer, const LayerQuestion& question) {
  if (question.offloaded.empty() && question.offloaded_layers == 0) return 0;
  const double repeated = question.repeated_blocks;
  const auto bytes = [&](WordSet<Module> modules) {
    return offloaded_bytes(layer, modules, question.offloaded);
  };
  const double of_layers = real(question.offloaded_layers) / real(inputs.model.layers);
  const double of_modules = repeated * bytes(question.repeated) + (1.0 - repeated) * bytes({});
  return host_copy_time(inputs.device, Bytes{of_modules + of_layers * kept_bytes(layer, {})}).value;
}

PartKernels price_part(const OperatorPricer& pricer, const Layer& layer, Part part,
                       const LayerQuestion& question, const Inputs& inputs) {
  const Software& software = inputs.software;
  PartKernels kernels;
  kernels.forward = pricer.price(forward_operators(layer, software));
  const std::size_t operators = kernels.forward.size();
  if (is_block(part)) {
    kernels.backward = pricer.price(repeated_operators(layer, software, question.repeated));
    for (KernelCost& kernel : kernels.backward) {
      kernel.repeated = true;
      kernel.seconds *= question.repeated_blocks;  // the mean of blocks that do and do not
      kernel.hidden *= question.repeated_blocks;
    }
  }
  const KernelCosts backward = pricer.price(backward_operators(layer, software));
  kernels.backward.insert(kernels.backward.end(), backward.begin(), backward.end());
  if (!is_block(part)) return kernels;
  kernels.copies = activation_copies(inputs, layer, question);
  const LayerKind kind = LayerKinds(inputs.model).kind_of(part);
  const bool whole = question.repeated == WordSet<Module>::all();
  const double again = whole ? question.repeated_blocks : 0.0;
  const HostStack& host = software.host;
  LaunchCounts launches = launches_of(kind, inputs.model, question, host.launches);
  if (!question.setting.graphs.has(GraphedModule::full)) {
    launches += real(layer.adapters) * adapter_launches(question.setting.learning, software);
  }
  if (is_softmax(kind.mixer)) launches += context_launches(question, software.common);
  const double wait = count_wait(software, kind, question);
  const double lost = lost_share(host, kind, question.setting);
  const double beside =
      question.beside ? exchange_beside(software.communication, question.setting.graphs) : 0.0;
  const double left = question.beside ? software.common.count_wait_beside : 1.0;
  const Seconds collective =
      question.staged_over_nodes ? pricer.tensor_collective_launch() : Seconds{};
  const double layers = kind.sublayers() / 2.0;  // stacks state what a usual block launches
  // Where they state its time forward, that of a backward pass is in proportion to its operators.
  const double back = real(backward.size()) / real(std::max<std::size_t>(1, operators));
  kernels.host_forward = add_launches(
      kernels.forward, inputs, {layers, launches.forward, lost, wait, beside, left, collective});
  if (layer.detached) return kernels;
  kernels.host_backward =
      add_launches(kernels.backward, inputs,
                   {layers * (back + again), launches.backward + again * launches.forward, lost,
                    again * wait, beside, left, collective});
  return kernels;
}

PassCost sum(const KernelCosts& kernels) {
  PassCost cost;
  for (const KernelCost& kernel : kernels) {
    switch (kernel.kind) {
      case WorkKind::tensor_comm:
        cost.tp_comm += kernel.seconds;
        cost.hidden_tp_comm += kernel.hidden;
        continue;
      case WorkKind::context_comm:
        cost.cp_comm += kernel.seconds;
        cost.hidden_cp_comm += kernel.hidden;
        continue;
      case WorkKind::expert_comm:
        cost.ep_comm += kernel.seconds;
        cost.hidden_ep_comm += kernel.hidden;
        continue;
      case WorkKind::host:
        cost.host += kernel.seconds;
        if (kernel.weight_gradient) cost.weight_gradient_host += kernel.seconds;
        continue;
      case WorkKind::attention: cost.attention += kernel.seconds; break;
      case WorkKind::stream: cost.stream += kernel.seconds; break;
      case WorkKind::product: break;
    }
    (kernel.repeated ? cost.recompute : cost.compute) += kernel.seconds;
    if (kernel.weight_gradient) cost.weight_gradient += kernel.seconds;
  }
  return cost;
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& other) {
  for (double PassCost::*part : kPassParts) this->*part += other.*part;
  return *this;
}

PassCost operator*(double times, PassCost cost) {
  for (double PassCost::*part : kPassParts) cost.*part *= times;
  return cost;
}

LayerQuestion layer_question(const Plan& plan, const Cluster& cluster) {
  LayerQuestion question;
  static_cast<LayerContent&>(question) = layer_content(plan);
  const LayerSetting mean = mean_layer_setting(plan);
  question.mean_len = mean.seq_len;
  question.seen_len = mean.seen_len;
  question.tensor = rank_group(plan, GroupAxis::tensor);
  question.context = rank_group(plan, GroupAxis::context);
  question.expert = rank_group(plan, GroupAxis::expert);
  question.expert_tensor = rank_group(plan, GroupAxis::expert_tensor);
  question.forward_only = traits(plan.objective).forward_only;
  const std::int64_t per_node = cluster.devices_per_node;
  const bool in_node = per_node % (plan.tp * plan.cp) == 0 && per_node % (plan.ep * plan.etp) == 0;
  question.gpus = in_node ? per_node : plan.gpus;
  question.staged_over_nodes = plan.pp > 1 && plan.tp > 1 && plan.gpus > per_node;
  question.overlap = plan.overlap;
  question.beside = exchanges_beside(plan);
  question.by_matrix = plan.optimizer == Optimizer::muon;
  return question;
}

namespace {

/// Plays experts on a shortcut (arXiv 2404.05019): the dense sublayers up to the next experts do
/// not wait for them, so that tokens are exchanged beside these, at the loss of kernels beside
/// transfers.
void play_shortcut(const Inputs& inputs, const PartCounts& held, LayerKernels& kernels) {
  const LayerKinds kinds(inputs.model);
  const double loss = overlap_loss(inputs);
  for (KernelCosts PartKernels::*pass : {&PartKernels::forward, &PartKernels::backward}) {
    double room = 0, layers = 0;  // s of dense kernels; layers of experts
    each_part([&](Part part) {
      if (!is_block(part) || held[part] == 0) return;
      if (kinds.kind_of(part).has_experts()) {
        layers += real(held[part]);
      } else {
        room += real(held[part]) * sum(kernels[part].*pass).compute;
      }
    });
    each_part([&](Part part) {
      if (!is_block(part) || held[part] == 0 || !kinds.kind_of(part).has_experts()) return;
      double left = room / layers;
      for (KernelCost& transfer : kernels[part].*pass) {
        if (transfer.kind != WorkKind::expert_comm) continue;
        const double both = std::min(left, transfer.seconds);
        left -= both;
        transfer.hidden += (1.0 - loss) * both;
        transfer.seconds -= (1.0 - loss) * both;
      }
    });
  }
}

}  // namespace

LayerKernels price_kernels(const LayerQuestion& question, const Inputs& inputs) {
  const OperatorPricer pricer(question, inputs);
  const LayerSetting setting = question.mean();
  const PartCounts held = parts_of(inputs.model);
  LayerKernels kernels;
  each_part([&](Part part) {
    if (held[part] == 0) return;
    const Layer layer = tell_part(part, inputs.model, setting, inputs.software);
    kernels[part] = price_part(pricer, layer, part, question, inputs);
  });
  if (inputs.model.experts.shortcut && !question.beside) play_shortcut(inputs, held, kernels);
  return kernels;
}

namespace {

/// How far a step whose tensor-core kernels take this share of its time runs at the board's limit:
/// not at all below 0.45, wholly from 0.7 on (a guess that nodes' power in runs supports).
double at_limit(double share) {
  return std::clamp((share - 0.45) / 0.25, 0.0, 1.0);
}

double tensor_seconds(const PassCost& pass) {
  return std::max(0.0, pass.compute + pass.recompute - pass.stream);
}

/// Tensor-core kernels of a pass slower by a factor.
void slow_down(PassCost& pass, double factor) {
  const double kernels = pass.compute + pass.recompute;
  if (kernels <= 0) return;
  const double more = (factor - 1.0) * tensor_seconds(pass) / kernels;
  pass.compute *= 1.0 + more;
  pass.recompute *= 1.0 + more;
  pass.attention *= factor;
  pass.weight_gradient *= factor;
}

/// Prices at the rate that the card sustains: kernel tables are bursts, a busy step is a steady
/// state. Layers that wait for their host or their links leave the board below its limit.
void sustain(const Device& device, const PerPart<std::int64_t>& held, LayerCosts& costs) {
  if (device.sustained == 1.0) return;
  double tensor = 0.0, all = 0.0;
  each_part([&](Part part) {
    for (const PassCost* pass : {&costs[part].forward, &costs[part].backward}) {
      tensor += real(held[part]) * tensor_seconds(*pass);
      all += real(held[part]) * std::max(pass->total(), pass->launching);
    }
  });
  if (all <= 0) return;
  const double factor = 1.0 / (1.0 + at_limit(tensor / all) * (device.sustained - 1.0));
  each_part([&](Part part) {
    slow_down(costs[part].forward, factor);
    slow_down(costs[part].backward, factor);
  });
}

}  // namespace

LayerCosts price(const LayerQuestion& question, const Inputs& inputs) {
  const LayerKernels kernels = price_kernels(question, inputs);
  const PartCounts held = parts_of(inputs.model);
  LayerCosts costs;
  costs.weights = part_weights(inputs.model, question, inputs.software);
  each_part([&](Part part) {
    const PartKernels& its = kernels[part];
    costs[part] = {sum(its.forward), sum(its.backward)};
    for (const auto& [pass, host] : {std::pair{&costs[part].forward, &its.host_forward},
                                     std::pair{&costs[part].backward, &its.host_backward}}) {
      pass->launching = host->launching;
      pass->host_beside = host->beside;
    }
    costs[part].forward = real(1 + question.forward_only) * costs[part].forward;
    costs[part].forward.copies = costs[part].backward.copies = its.copies;
    const bool has_matrices = is_block(part) || part == Part::next_token;
    if (!question.by_matrix || !has_matrices || held[part] == 0) return;
    const Layer layer = tell_part(part, inputs.model, question.setting, inputs.software);
    costs.orthogonal[part] = orthogonalization(layer, question.setting.precision, inputs);
  });
  sustain(inputs.device, held, costs);
  return costs;
}

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content) {
  ChunkCosts costs;
  each_part([&](Part part) {
    const std::int64_t count = content.parts[part];
    if (count == 0) return;
    costs.forward += real(count) * layers[part].forward;
    costs.backward += real(count) * layers[part].backward;
  });
  return costs;
}

}  // namespace prequel
