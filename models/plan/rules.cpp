#include "models/plan/rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/expert_groups.hpp"
#include "models/plan/idle_requests.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/overlap.hpp"
#include "models/plan/ruling.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kLongSequence = 8192;  // beyond it a defaulted length deserves a word

/// Takes what a stack cannot do from what is asked to run beside passes: exchanges of tokens, for
/// which one more chunk would be in flight.
void leave_exchanges(Ruling& its) {
  const CommunicationStack& stack = its.software.communication;
  const bool beside = stack.beside > 0 || stack.beside_in_graph > 0;
  if (beside || !its.plan.overlap.has(Overlapped::ep)) return;
  WordSet<Overlapped> others;
  for (const Overlapped each : all_of<Overlapped>()) {
    if (each != Overlapped::ep && its.plan.overlap.has(each)) others.add(each);
  }
  its.plan.overlap = others;
  if (!its.request.overlap) return;
  its.warn(
      "overlap ep: no effect, {} exchanges no tokens beside another micro batch "
      "(communication.beside)",
      its.software.name);
}

void fill_defaults(Ruling& its) {
  each_axis([&](const auto& axis) {
    const auto& asked = axis.of(its.request);
    const auto& usual = axis.of(its.software.defaults);
    axis.of(its.plan) = asked ? *asked : usual ? *usual : plainest(axis.domain);
  });
  // Stacks that reduce in 16 bits do so for products of no more.
  const bool wide = bytes_per_element(its.plan.precision) >= bytes_per_element(Precision::fp32);
  if (!its.request.grad_precision && wide) {
    its.plan.grad_precision = Precision::fp32;
  } else if (!its.request.grad_precision && !its.software.defaults.grad_precision) {
    // No framework keeps gradients in 8 or 4 bits.
    its.plan.grad_precision =
        is_quantized(its.plan.precision) ? Precision::bf16 : its.plan.precision;
  }
  if (!its.request.schedule && its.plan.vpp > 1) its.plan.schedule = Schedule::interleaved;
  if (!its.request.sequence_parallel && its.plan.ep > 1 && its.plan.tp > 1 &&
      offers_sequence_parallel(its)) {
    its.plan.sequence_parallel = true;
  }
  // Tokens on their way to experts are cast, too; a stack that casts them does so for such products
  // alone.
  const bool narrow = is_quantized(its.plan.precision);
  const Precision carried = activation_precision(its.plan);
  const bool exchanges = exchanges_tokens(its.plan, its.model);
  if (its.request.dispatch_precision && !exchanges && its.plan.dispatch_precision != carried) {
    its.warn("dispatch_precision {}: no effect {}", name(its.plan.dispatch_precision),
             its.model.has_experts() ? "with ep 1" : "without experts");
  }
  const bool by_default = narrow && its.software.defaults.dispatch_precision;
  if (!exchanges || (!its.request.dispatch_precision && !by_default)) {
    its.plan.dispatch_precision = carried;
  }
  // A stack leaves its defaults where a model has nothing of the kind.
  if (!its.request.fp8_activation_store && its.model.mlp != Mlp::swiglu) {
    its.plan.fp8_activation_store = false;
  }
  fill_chosen_attention(its);
  if (!its.request.etp) {
    its.plan.etp = usual_expert_tensor(its.plan.ep, its.plan.tp, its.model, its.software);
  }
  if (!its.request.vpp && its.plan.pp > 1 && traits(its.plan.schedule).folded) its.plan.vpp = 2;
  // DualPipe pairs passes so that one's exchange of tokens hides behind the other (DeepSeek-AI
  // 2024, "DeepSeek-V3 Technical Report", section 3.2.1).
  if (!its.request.overlap && traits(its.plan.schedule).pairs &&
      exchanges_tokens(its.plan, its.model)) {
    its.plan.overlap.add(Overlapped::ep);
  }
  leave_exchanges(its);
  if (!its.request.seq_len) its.plan.seq_len = its.model.max_positions;
  if (its.wording == Wording::all) {  // a search fills millions of plans, and tells it once
    if (std::string said = assumed_sequence(its.request, its.model); !said.empty()) {
      its.warnings.push_back(std::move(said));
    }
  }
  if (!its.request.gbs) {
    its.problem("gbs: missing; the global batch size is needed, in sequences (512) or tokens (4M)");
  }
}

/// Returns degrees that would fill whole nodes in place of those that were asked for.
std::string fitting_degrees(const Ruling& its, std::int64_t devices) {
  const std::int64_t model_parallel = its.plan.tp * its.plan.pp * its.plan.cp;
  if (devices >= model_parallel && devices % model_parallel == 0) {
    return fmt::format("dp {}", devices / model_parallel);
  }
  const std::int64_t per_node = its.cluster.devices_per_node;
  const std::int64_t ranks = model_parallel * its.request.dp.value_or(1);
  const std::int64_t whole = ranks / std::gcd(ranks, per_node);  // nodes that ranks fill
  std::string fitting =
      fmt::format("{} nodes", its.request.dp ? fmt::format("{}", whole)
                                             : nearest_multiples(whole, its.plan.nodes));
  const std::int64_t others = its.plan.tp * its.plan.cp;
  if (its.plan.pp == 1 || devices % others != 0) return fitting;
  std::int64_t pp = std::min(its.plan.pp, devices / others);
  while (devices / others % pp != 0) --pp;
  return fmt::format("pp {}, or {}", pp, fitting);
}

/// dp and nodes from each other, and their agreement with the cluster.
void fill_degrees(Ruling& its) {
  const std::int64_t per_node = its.cluster.devices_per_node;
  const std::int64_t model_parallel = its.plan.tp * its.plan.pp * its.plan.cp;
  const auto product = [&] {
    const std::string degrees = fmt::format("tp {} x pp {}", its.plan.tp, its.plan.pp);
    return its.plan.cp == 1 ? degrees : fmt::format("{} x cp {}", degrees, its.plan.cp);
  };
  if (its.request.nodes) {
    its.plan.nodes = *its.request.nodes;
    const std::int64_t devices = its.plan.nodes * per_node;
    its.plan.dp = its.request.dp.value_or(std::max<std::int64_t>(1, devices / model_parallel));
    if (its.plan.dp * model_parallel != devices) {
      its.problem([&] {
        return fmt::format("{} x dp {} = {} ranks, but {} of {} {} {} GPUs; {} would do", product(),
                           its.plan.dp, its.plan.dp * model_parallel,
                           its.plan.nodes == 1 ? "1 node" : fmt::format("{} nodes", its.plan.nodes),
                           its.cluster.name, its.plan.nodes == 1 ? "has" : "have", devices,
                           fitting_degrees(its, devices));
      });
    }
  } else {
    its.plan.dp = its.request.dp.value_or(1);
    const std::int64_t ranks = its.plan.dp * model_parallel;
    its.plan.nodes = (ranks + per_node - 1) / per_node;
    if (!its.request.dp) {
      its.warn("neither nodes nor dp is said: {} on {} GPUs, dp 1, is taken", product(), ranks);
    }
    if (ranks > per_node && ranks % per_node != 0) {
      its.problem([&] {
        return fmt::format(
            "{} x dp {} = {} ranks do not fill whole nodes of {} GPUs; {} ranks "
            "would do",
            product(), its.plan.dp, ranks, per_node, nearest_multiples(per_node, ranks));
      });
    }
  }
  its.plan.gpus = its.plan.dp * model_parallel;
  if (its.plan.nodes > its.cluster.nodes) {
    its.problem([&] {
      return fmt::format(
          "{0} nodes are needed, but {1} has {2}; cluster.nodes={0} says that there are more",
          its.plan.nodes, its.cluster.name, its.cluster.nodes);
    });
  }
}

void check_not_modelled(Ruling& its) {
  if (is_quantized(its.plan.grad_precision)) {
    its.problem([&] {
      return fmt::format("grad_precision {}: not modelled yet; fp32, bf16 or fp16 would do",
                         name(its.plan.grad_precision));
    });
  }
}

void check_overlap(Ruling& its) {
  if (const std::string refusal = overlap_problem(its.plan.overlap); !refusal.empty()) {
    its.problem([&] { return refusal; });
  }
}

void check_batch(Ruling& its) {
  if (!its.request.gbs) return;
  const std::int64_t unit = its.plan.dp * its.plan.mbs;
  if (its.plan.gbs % unit != 0) {
    its.problem([&] {
      return fmt::format("gbs {}: not a multiple of dp {} x mbs {} = {}; {} would do", its.plan.gbs,
                         its.plan.dp, its.plan.mbs, unit, nearest_multiples(unit, its.plan.gbs));
    });
    return;
  }
  const std::int64_t group = its.plan.vpp_group;
  if (std::string refusal = group_problem(its.plan.schedule, its.plan.pp, group);
      !refusal.empty()) {
    return its.problem([&] { return fmt::format("vpp_group {}: {}", group, refusal); });
  }
  const Rounds taken = rounds(its.plan.schedule, its.plan.pp, group);
  if (taken.take(its.plan.micro_batches())) return;
  its.problem([&] {
    return fmt::format(
        "gbs {}: schedule {} needs micro batches in {}, but there are {}; gbs {} would "
        "do",
        its.plan.gbs, name(its.plan.schedule), text_of(taken), its.plan.micro_batches(),
        unit * taken.next(its.plan.micro_batches()));
  });
}

void check_sequence(Ruling& its) {
  if (its.model.position == PositionEmbedding::learned &&
      its.plan.seq_len > its.model.max_positions) {
    its.problem([&] {
      return fmt::format("seq_len {}: the model has {} learned positions; {} would do",
                         its.plan.seq_len, its.model.max_positions, its.model.max_positions);
    });
  } else if (its.plan.seq_len > its.model.max_positions) {
    its.warn("seq_len {} is longer than the model's max_position_embeddings {}", its.plan.seq_len,
             its.model.max_positions);
  }
}

std::string plain(bool value) {
  return value ? "true" : "false";
}
std::string plain(const auto& value) {
  return cell_of(value);
}

/// Only warns of a plan that nobody can run on this stack: its price is still worth knowing.
void check_offered(Ruling& its) {
  each_axis([&](const auto& axis) {
    if constexpr (!std::is_scalar_v<typename std::decay_t<decltype(axis)>::Value>) return;
    const auto& offered = axis.of(its.software.choices);
    const auto& value = axis.of(its.plan);
    if (offered.empty() || std::find(offered.begin(), offered.end(), value) != offered.end()) {
      return;
    }
    std::vector<std::string> texts;
    for (const auto& each : offered) texts.push_back(plain(each));
    its.warn("{} {}: {} offers {}; priced all the same", axis.name, plain(value), its.software.name,
             fmt::join(texts, ", "));
  });
}

void warn_of_stand_ins(Ruling& its) {
  if (its.wording != Wording::all) return;
  for (std::string& told : stand_ins(its.software, its.cluster)) {
    its.warnings.push_back(std::move(told));
  }
}

/// Fills the plan, as far as it is legal where nobody wants to read why it is not.
void judge(Ruling& its) {
  using Check = void (*)(Ruling&);
  constexpr std::array<Check, 18> kChecks{
      fill_defaults,   fill_degrees,           check_not_modelled,
      check_attention, check_tensor_parallel,  check_formats,
      check_overlap,   check_context_parallel, check_expert_parallel,
      fill_imbalance,  check_pipeline,         check_batch,
      check_zero,      check_optimizer,        check_host_memory,
      check_recompute, check_sequence,         check_tuning};
  warn_of_stand_ins(its);
  for (const Check check : kChecks) {
    check(its);
    if (!its.is_legal && its.wording == Wording::nothing) return;
  }
  if (its.wording != Wording::all) return;
  if (its.is_legal) {
    for (std::string& idle : idle_requests(its.request, its.plan, its.model, its.software)) {
      its.warnings.push_back(std::move(idle));
    }
  }
  check_offered(its);
}

PlanJudgement judged(Ruling ruling) {
  judge(ruling);
  return {std::move(ruling.plan), std::move(ruling.problems), std::move(ruling.warnings)};
}

}  // namespace

/// The divisor of `whole` that is nearest to `wanted` (the smaller one on a tie).
std::int64_t nearest_divisor(std::int64_t whole, std::int64_t wanted) {
  for (std::int64_t distance = 0; distance < whole; ++distance) {
    for (const std::int64_t candidate : {wanted - distance, wanted + distance}) {
      if (candidate >= 1 && candidate <= whole && whole % candidate == 0) return candidate;
    }
  }
  return whole;
}

/// The multiples of `unit` around `wanted`, as words: "2040 or 2048".
std::string nearest_multiples(std::int64_t unit, std::int64_t wanted) {
  const std::int64_t below = wanted / unit * unit;
  const std::int64_t above = below + unit;
  return below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

std::vector<std::string> stand_ins(const Software& software, const Cluster& cluster) {
  std::vector<std::string> told;
  if (!software.stands_for.empty()) {
    told.push_back(
        fmt::format("software {} is not known; {} stands in for it, which can err by {:.0f} %",
                    software.stands_for, software.name, 100 * software.relative_error));
  }
  if (!cluster.stands_for.empty()) {
    told.push_back(
        fmt::format("cluster {} is not known; {}, a usual machine with {}, stands in for it",
                    cluster.stands_for, cluster.name, cluster.device));
  }
  return told;
}

std::string assumed_sequence(const PlanRequest& request, const Transformer& model) {
  if (request.seq_len || model.max_positions <= kLongSequence) return {};
  return fmt::format("seq_len: not said, the model's max_position_embeddings {} is taken",
                     model.max_positions);
}

PlanJudgement judge_plan(const PlanRequest& request, const Transformer& model,
                         const Cluster& cluster, const Software& software) {
  return judged({request, model, cluster, software, Wording::problems});
}

std::optional<Plan> legal_plan(const PlanRequest& request, const Transformer& model,
                               const Cluster& cluster, const Software& software) {
  Ruling ruling{request, model, cluster, software, Wording::nothing};
  judge(ruling);
  if (!ruling.is_legal) return std::nullopt;
  return std::move(ruling.plan);
}

ResolvedPlan resolve_plan(const PlanRequest& request, const Transformer& model,
                          const Cluster& cluster, const Software& software) {
  PlanJudgement judgement = judged({request, model, cluster, software, Wording::all});
  if (!judgement.problems.empty()) throw InputError(judgement.problems);
  return {std::move(judgement.plan), std::move(judgement.warnings)};
}

}  // namespace prequel
