#include "models/plan/rules.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <numeric>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"
#include "hw/dispatch.hpp"
#include "models/axes/axis_text.hpp"
#include "models/layers/parameters.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/idle_requests.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/layout.hpp"
#include "models/plan/overlap.hpp"
#include "models/plan/router_balance.hpp"
#include "models/plan/stages.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kLongSequence = 8192;  // beyond it a defaulted length deserves a word
constexpr std::int64_t kAlignedHeads = 8;     // elements: 16 bytes in fp16, see hw/kernels/gemm.hpp

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

/// What of a judgement is put into words: texts take longer than the rules.
enum class Tells : std::uint8_t { nothing, problems, all };

class Resolver {
 public:
  Resolver(const PlanRequest& request, const Transformer& model, const Cluster& cluster,
           const Software& software, Tells tells)
      : request_(request), model_(model), cluster_(cluster), software_(software), tells_(tells) {}

  PlanJudgement judge() {
    if (!software_.stands_for.empty()) {
      warn("software {} is not known; {} stands in for it, which can err by {:.0f} %",
           software_.stands_for, software_.name, 100 * software_.relative_error);
    }
    if (!cluster_.stands_for.empty()) {
      warn("cluster {} is not known; {}, a usual machine with {}, stands in for it",
           cluster_.stands_for, cluster_.name, cluster_.device);
    }
    using Check = void (Resolver::*)();
    for (const Check check : std::initializer_list<Check>{
             &Resolver::fill_defaults, &Resolver::fill_degrees, &Resolver::check_not_modelled,
             &Resolver::check_attention, &Resolver::check_tensor_parallel, &Resolver::check_formats,
             &Resolver::check_overlap, &Resolver::check_context_parallel,
             &Resolver::check_expert_parallel, &Resolver::fill_imbalance, &Resolver::check_pipeline,
             &Resolver::check_batch, &Resolver::check_zero, &Resolver::check_optimizer,
             &Resolver::check_host_memory, &Resolver::check_recompute, &Resolver::check_sequence}) {
      (this->*check)();
      if (!is_legal_ && tells_ == Tells::nothing) break;
    }
    if (tells_ == Tells::all && is_legal_) {
      for (std::string& idle : idle_requests(request_, plan_, model_, software_)) {
        warnings_.push_back(std::move(idle));
      }
    }
    if (tells_ == Tells::all) check_offered();
    return {std::move(plan_), std::move(problems_), std::move(warnings_)};
  }
  [[nodiscard]] bool is_legal() const { return is_legal_; }

 private:
  /// `text` makes what is said of a broken rule, where anyone wants to read it.
  template <class Text>
  void problem(const Text& text) {
    is_legal_ = false;
    if (tells_ != Tells::nothing) problems_.push_back("plan: " + text());
  }
  void problem(const char* text) {
    problem([&] { return std::string(text); });
  }
  template <class... Values>
  void warn(fmt::format_string<Values...> text, Values&&... values) {
    if (tells_ == Tells::all)
      warnings_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void fill_defaults() {
    each_axis([this](const auto& axis) {
      const auto& asked = axis.of(request_);
      const auto& usual = axis.of(software_.defaults);
      axis.of(plan_) = asked ? *asked : usual ? *usual : plainest(axis.domain);
    });
    // Stacks that reduce in 16 bits do so for products of no more.
    const bool wide = bytes_per_element(plan_.precision) >= bytes_per_element(Precision::fp32);
    if (!request_.grad_precision && wide) {
      plan_.grad_precision = Precision::fp32;
    } else if (!request_.grad_precision && !software_.defaults.grad_precision) {
      // No framework keeps gradients in 8 or 4 bits.
      plan_.grad_precision = is_quantized(plan_.precision) ? Precision::bf16 : plan_.precision;
    }
    if (!request_.schedule && plan_.vpp > 1) plan_.schedule = Schedule::interleaved;
    if (!request_.sequence_parallel && plan_.ep > 1 && plan_.tp > 1 && offers_sequence_parallel()) {
      plan_.sequence_parallel = true;
    }
    if (!request_.vpp && plan_.pp > 1 && traits(plan_.schedule).folded) plan_.vpp = 2;
    // DualPipe pairs passes so that one's exchange of tokens hides behind the other (DeepSeek-AI
    // 2024, "DeepSeek-V3 Technical Report", section 3.2.1).
    if (!request_.overlap && traits(plan_.schedule).pairs && exchanges_tokens(plan_, model_)) {
      plan_.overlap.add(Overlapped::ep);
    }
    if (!request_.seq_len) plan_.seq_len = model_.max_positions;
    if (tells_ == Tells::all) {  // a search fills millions of plans, and tells it once
      if (std::string said = assumed_sequence(request_, model_); !said.empty()) {
        warnings_.push_back(std::move(said));
      }
    }
    if (!request_.gbs) {
      problem("gbs: missing; the global batch size in sequences is needed");
    }
  }

  /// dp and nodes from each other, and their agreement with the cluster.
  void fill_degrees() {
    const std::int64_t per_node = cluster_.devices_per_node;
    const std::int64_t model_parallel = plan_.tp * plan_.pp * plan_.cp;
    const auto product = [&] {
      const std::string degrees = fmt::format("tp {} x pp {}", plan_.tp, plan_.pp);
      return plan_.cp == 1 ? degrees : fmt::format("{} x cp {}", degrees, plan_.cp);
    };
    if (request_.nodes) {
      plan_.nodes = *request_.nodes;
      const std::int64_t devices = plan_.nodes * per_node;
      plan_.dp = request_.dp.value_or(std::max<std::int64_t>(1, devices / model_parallel));
      if (plan_.dp * model_parallel != devices) {
        problem([&] {
          return fmt::format("{} x dp {} = {} ranks, but {} nodes of {} have {} GPUs; {} would do",
                             product(), plan_.dp, plan_.dp * model_parallel, plan_.nodes,
                             cluster_.name, devices, fitting_degrees(devices));
        });
      }
    } else {
      plan_.dp = request_.dp.value_or(1);
      const std::int64_t ranks = plan_.dp * model_parallel;
      plan_.nodes = (ranks + per_node - 1) / per_node;
      if (!request_.dp) {
        warn("neither nodes nor dp is said: {} on {} GPUs, dp 1, is taken", product(), ranks);
      }
      if (ranks > per_node && ranks % per_node != 0) {
        problem([&] {
          return fmt::format(
              "{} x dp {} = {} ranks do not fill whole nodes of {} GPUs; {} ranks "
              "would do",
              product(), plan_.dp, ranks, per_node, nearest_multiples(per_node, ranks));
        });
      }
    }
    plan_.gpus = plan_.dp * model_parallel;
    if (plan_.nodes > cluster_.nodes) {
      problem([&] {
        return fmt::format(
            "{0} nodes are needed, but {1} has {2}; cluster.nodes={0} says that there are more",
            plan_.nodes, cluster_.name, cluster_.nodes);
      });
    }
  }

  /// What would fill whole nodes in place of the degrees that were asked for.
  std::string fitting_degrees(std::int64_t devices) const {
    const std::int64_t model_parallel = plan_.tp * plan_.pp * plan_.cp;
    if (devices >= model_parallel && devices % model_parallel == 0) {
      return fmt::format("dp {}", devices / model_parallel);
    }
    const std::int64_t per_node = cluster_.devices_per_node;
    const std::int64_t ranks = model_parallel * request_.dp.value_or(1);
    const std::int64_t whole = ranks / std::gcd(ranks, per_node);  // nodes that ranks fill
    std::string fitting = fmt::format(
        "{} nodes", request_.dp ? fmt::format("{}", whole) : nearest_multiples(whole, plan_.nodes));
    const std::int64_t others = plan_.tp * plan_.cp;
    if (plan_.pp == 1 || devices % others != 0) return fitting;
    std::int64_t pp = std::min(plan_.pp, devices / others);
    while (devices / others % pp != 0) --pp;
    return fmt::format("pp {}, or {}", pp, fitting);
  }

  void check_not_modelled() {
    if (is_quantized(plan_.grad_precision)) {
      problem([&] {
        return fmt::format("grad_precision {}: not modelled yet; fp32, bf16 or fp16 would do",
                           name(plan_.grad_precision));
      });
    }
  }

  /// Flash attention is a kernel of 16-bit products that the stack must have.
  void check_attention() {
    if (plan_.attention != AttentionKind::flash) return;
    if (model_.score_cap) {
      warn("attn_logit_softcapping: the kernel of attention flash is priced without its tanh");
    }
    const auto others = [&] {
      std::vector<std::string> names;
      if (software_.kernels.unfused) names.emplace_back(name(AttentionKind::unfused));
      if (software_.kernels.fused_softmax) names.emplace_back(name(AttentionKind::fused_softmax));
      return names.empty() ? "" : fmt::format("attention {}", fmt::join(names, " or "));
    };
    if (software_.kernels.flash_kernel.empty()) {
      problem([&] {
        return fmt::format(
            "attention flash: software {} names no kernel for it (kernels.flash_kernel); {} would "
            "do",
            software_.name, others().empty() ? "naming one" : others());
      });
    } else if (bytes_per_element(plan_.precision) > bytes_per_element(Precision::fp16)) {
      problem([&] {
        return fmt::format("attention flash: has no {} kernels; precision bf16 or fp16 would do{}",
                           name(plan_.precision), others().empty() ? "" : ", or " + others());
      });
    }
  }

  /// tp divides `count`; one that would do divides `all` that it must divide.
  void must_divide(std::string_view what, std::int64_t count, std::int64_t all) {
    if (count % plan_.tp == 0) return;
    problem([&] {
      return fmt::format("tp {}: {} {} is not a multiple of it; tp {} would do", plan_.tp, what,
                         count, nearest_divisor(all, plan_.tp));
    });
  }

  void check_tensor_parallel() {
    const std::int64_t all = std::gcd(std::gcd(model_.heads, model_.kv_heads), model_.ffn_hidden);
    must_divide("heads", model_.heads, all);
    const bool replicated = plan_.tp > model_.kv_heads && plan_.tp % model_.kv_heads == 0;
    if (replicated) {
      warn("tp {}: more ranks than the {} heads of keys and values, which are replicated", plan_.tp,
           model_.kv_heads);
    } else if (model_.kv_heads != model_.heads) {
      must_divide("kv_heads", model_.kv_heads, all);
    }
    if (has_dense_layers()) must_divide("ffn_hidden", model_.ffn_hidden, all);
    const std::int64_t per_node = cluster_.devices_per_node;
    if (plan_.tp > 1 && (plan_.tp > per_node || per_node % plan_.tp != 0)) {
      warn(
          "tp {}: tensor-parallel groups span nodes of {} GPUs; their all-reduces "
          "cross the network",
          plan_.tp, per_node);
    }
    if (plan_.attention != AttentionKind::flash && plan_.precision != Precision::fp32 &&
        model_.head_dim % kAlignedHeads != 0) {
      warn(
          "head size {} ({} heads) is not a multiple of 8: the attention products "
          "leave the tensor cores; {}",
          model_.head_dim, model_.heads, good_head_counts());
    }
    if (plan_.sequence_parallel) {
      if (plan_.tp == 1 && request_.sequence_parallel) {
        warn("sequence_parallel: no effect with tp 1");
      }
      const std::int64_t ranks = plan_.tp * plan_.cp;
      if (plan_.seq_len % ranks != 0) {
        problem([&] {
          return fmt::format(
              "sequence_parallel: seq_len {} is not a multiple of {} {}; {} would do",
              plan_.seq_len, plan_.cp == 1 ? "tp" : "tp x cp =", ranks,
              nearest_multiples(ranks, plan_.seq_len));
        });
      }
    }
  }

  [[nodiscard]] bool has_dense_layers() const {
    return !model_.has_experts() || !model_.is_uniform();
  }

  /// Recipes are of 8 or 4 bits, and of the one that is asked for.
  void check_formats() {
    const bool narrow = is_quantized(plan_.precision);
    const Fp8Recipe recipe = plan_.fp8_recipe;
    if (!narrow && request_.fp8_recipe && recipe != Fp8Recipe::none) {
      problem([&] {
        return fmt::format("fp8_recipe {}: precision is {}; fp8 would do", name(recipe),
                           name(plan_.precision));
      });
    }
    if (plan_.precision == Precision::fp8 && recipe == Fp8Recipe::nvfp4) {
      problem("fp8_recipe nvfp4: has 4 bits; precision fp4 would do");
    }
    if (!narrow && plan_.fp8_param_gather && request_.fp8_param_gather) {
      warn("fp8_param_gather: no effect with precision {}", name(plan_.precision));
    }
    if (plan_.recompute != Recompute::selective && request_.recompute_modules &&
        !plan_.recompute_modules.empty()) {
      warn("recompute_modules: no effect with recompute {}", name(plan_.recompute));
    }
    if (request_.recompute_modules) warn_of_modules_without_layer();
  }

  void warn_of_modules_without_layer() {
    const WordSet<RecomputeModule> held = modules_of(model_, plan_.recompute_modules);
    for (const RecomputeModule each : all_of<RecomputeModule>()) {
      if (plan_.recompute_modules.has(each) && !held.has(each)) {
        warn("recompute_modules {}: {} has none", name(each), model_.name);
      }
    }
  }

  void check_overlap() {
    if (const std::string refusal = overlap_problem(plan_.overlap); !refusal.empty()) {
      problem([&] { return refusal; });
    }
  }

  /// Ranks take a piece of the front and one of the back of each sequence, so that the causal mask
  /// is shared evenly.
  void check_context_parallel() {
    if (plan_.cp == 1) return;
    const std::int64_t pieces = 2 * plan_.cp;
    if (plan_.seq_len % pieces != 0) {
      problem([&] {
        return fmt::format("cp {}: seq_len {} is not a multiple of 2 cp = {}; {} would do",
                           plan_.cp, plan_.seq_len, pieces,
                           nearest_multiples(pieces, plan_.seq_len));
      });
    }
    if (plan_.attention != AttentionKind::flash) {
      problem([&] {
        return fmt::format("cp {}: needs attention flash, not {}", plan_.cp, name(plan_.attention));
      });
    }
    // Ulysses: a rank has all tokens of its share of a tensor rank's heads.
    const std::int64_t ranks = plan_.tp * plan_.cp;
    if (request_.cp_comm && plan_.cp_comm == ContextComm::a2a_p2p) {
      warn("cp_comm a2a+p2p: priced as p2p, whose rings it makes shorter");
    }
    if (plan_.cp_comm == ContextComm::a2a && model_.heads % ranks != 0) {
      problem([&] {
        return fmt::format(
            "cp_comm a2a: heads {} is not a multiple of tp x cp = {}; cp_comm p2p "
            "would do",
            model_.heads, ranks);
      });
    } else if (plan_.cp_comm == ContextComm::a2a && kv_heads_of_rank() % plan_.cp != 0) {
      check_shared_heads();
    }
    if (model_.window > 0 && uses_transformer_engine() &&
        (plan_.cp_comm == ContextComm::p2p || plan_.cp_comm == ContextComm::a2a_p2p)) {
      warn(
          "cp_comm {}: Transformer Engine, which {} calls, has sliding windows over context ranks "
          "with a2a or all-gather alone; priced all the same",
          name(plan_.cp_comm), software_.name);
    }
  }

  /// Heads of keys and values that a tensor rank has; latent attention has them for each query's.
  [[nodiscard]] std::int64_t kv_heads_of_rank() const {
    const std::int64_t heads = model_.is_latent() ? model_.heads : model_.kv_heads;
    return std::max<std::int64_t>(1, heads / plan_.tp);
  }

  [[nodiscard]] bool uses_transformer_engine() const {
    return software_.framework == "megatron-lm";
  }

  /// A rank of Ulysses gets a part of the heads of keys and values, too, or copies of them.
  void check_shared_heads() {
    const std::int64_t heads = kv_heads_of_rank();
    if (!uses_transformer_engine()) {
      warn(
          "cp_comm a2a: cp {} is not a divisor of the {} heads of keys and values of a rank, "
          "which are replicated",
          plan_.cp, heads);
      return;
    }
    problem([&] {
      return fmt::format(
          "cp_comm a2a: Transformer Engine shares out heads, and of keys and values a rank has {} "
          "(tp {}), no multiple of cp {}; cp {} or cp_comm p2p would do",
          heads, plan_.tp, plan_.cp, nearest_divisor(heads, plan_.cp));
    });
  }

  void check_expert_parallel() {
    if (!model_.has_experts()) {
      if (plan_.ep > 1 || plan_.etp > 1) {
        problem([&] {
          return fmt::format("ep {}: {} has no experts; ep 1 would do", plan_.ep, model_.name);
        });
      }
      return;
    }
    const std::int64_t experts = model_.experts.count;
    if (experts % plan_.ep != 0) {
      problem([&] {
        return fmt::format("ep {}: {} experts are not a multiple of it; ep {} would do", plan_.ep,
                           experts, nearest_divisor(experts, plan_.ep));
      });
    }
    if (model_.experts.ffn_hidden % plan_.etp != 0) {
      problem([&] {
        return fmt::format(
            "etp {}: the experts' inner width {} is not a multiple of it; etp {} would do",
            plan_.etp, model_.experts.ffn_hidden,
            nearest_divisor(model_.experts.ffn_hidden, plan_.etp));
      });
    }
    const std::int64_t stage = rank_group(plan_, GroupAxis::pipeline).stride;
    if (stage % (plan_.ep * plan_.etp) != 0) {
      problem([&] {
        return fmt::format(
            "ep {} x etp {}: the {} ranks of a stage are not a multiple of it; ep {} would do",
            plan_.ep, plan_.etp, stage,
            nearest_divisor(stage / std::gcd(stage, plan_.etp), plan_.ep));
      });
      return;
    }
    if (plan_.ep > 1 && plan_.tp > 1 && !plan_.sequence_parallel && offers_sequence_parallel()) {
      problem([&] {
        return fmt::format("ep {}: with tp {} the framework wants sequence_parallel; on would do",
                           plan_.ep, plan_.tp);
      });
    }
    if (plan_.ep > 1) check_dispatcher();
  }

  /// DeepEP and its like put tokens on the network by themselves, through RDMA verbs.
  void check_dispatcher() {
    const Dispatcher dispatcher = plan_.dispatcher;
    if (dispatcher == Dispatcher::alltoall || dispatcher == Dispatcher::allgather) return;
    const std::string_view word = name(dispatcher);
    if (!cluster_.dispatch || !cluster_.dispatch->of(dispatcher)) {
      warn(
          "dispatcher {}: {} tells nothing of it (dispatch.{}); priced as collectives of the same "
          "bytes",
          word, cluster_.name, word);
    }
    if (!group_shape(cluster_, plan_.gpus, plan_.ep, plan_.etp).crosses_network()) return;
    if (dispatcher == Dispatcher::hybridep) {
      warn("dispatcher hybridep: expert groups of {} ranks reach beyond device links", plan_.ep);
    }
    if (!network_carries(cluster_, dispatcher)) {
      problem([&] {
        return fmt::format(
            "dispatcher {}: expert groups of {} ranks cross the network of {}, which is {} and has "
            "no RDMA verbs for it; alltoall would do, or ep {} inside a node",
            word, plan_.ep, cluster_.name, name(*cluster_.network.transport),
            nearest_divisor(model_.experts.count,
                            std::max<std::int64_t>(
                                1, std::min(plan_.ep, cluster_.devices_per_node / plan_.etp))));
      });
    } else if (cluster_.network.transport == Transport::efa && dispatcher != Dispatcher::uccl) {
      warn(
          "dispatcher {}: over EFA as a port alone, through NVSHMEM's transport of libfabric; "
          "uccl and alltoall run there as they are",
          word);
    }
  }

  /// Megatron-Core: "sequence parallelism must be used" with experts and tensor parallelism.
  [[nodiscard]] bool offers_sequence_parallel() const {
    const auto& offered = software_.choices.sequence_parallel;
    return software_.framework == "megatron-lm" &&
           std::find(offered.begin(), offered.end(), true) != offered.end();
  }

  /// Inputs of all experts are padded to their capacity, whether tokens fill it or not.
  void fill_capacity(double factor) {
    const double most = static_cast<double>(model_.experts.count) /
                        static_cast<double>(std::max<std::int64_t>(1, model_.experts.top_k));
    if (!(factor > 0 && factor <= most)) {
      problem([&] {
        return fmt::format(
            "router_balance {}: expected \"dropped:\" and how many times the mean an expert takes, "
            "above 0 and at most {:.4g}, which is all tokens",
            plan_.router_balance, most);
      });
      return;
    }
    plan_.imbalance = factor;
  }

  void fill_imbalance() {
    const std::string& balance = plan_.router_balance;
    if (balance == kForcedBalance) return;
    if (!model_.has_experts()) {
      if (request_.router_balance && balance != kDroppedTokens) {
        warn("router_balance: no effect without experts");
      }
      return;
    }
    if (const auto factor = capacity_factor(balance)) return fill_capacity(*factor);
    if (balance == kNaturalBalance) {
      const double usual = software_.kernels.natural_imbalance;
      if (usual <= 0) {
        problem([&] {
          return fmt::format(
              "router_balance natural: how uneven it is, {} does not say "
              "(kernels.natural_imbalance); forced would do, or a file of one "
              "number an expert",
              software_.name);
        });
      }
      plan_.imbalance = std::max(1.0, natural_imbalance(usual, plan_.ep));
      if (request_.router_balance && usual > 0 && plan_.ep > 1) {
        warn(
            "router_balance natural: the busiest rank's experts are taken to get {:.3g} "
            "times the mean, as {} states; a file of one number an expert would tell",
            plan_.imbalance, software_.name);
      }
      return;
    }
    if (model_.experts.count % plan_.ep != 0) return;  // a problem was noted
    try {
      plan_.imbalance = imbalance_of(read_histogram(balance, model_.experts.count), plan_.ep);
    } catch (const InputError& error) {
      for (const std::string& each : error.problems())
        problem([&] { return "router_balance: " + each; });
    }
  }

  /// The nearest head counts, fewer and more, with an aligned head size that tp divides.
  [[nodiscard]] std::string good_head_counts() const {
    const std::int64_t width = model_.attention_width();
    const auto good = [&](std::int64_t heads) {
      return heads > 0 && width % heads == 0 && (width / heads) % kAlignedHeads == 0 &&
             heads % plan_.tp == 0;
    };
    std::string text;
    for (std::int64_t heads = model_.heads - 1; heads > 0 && text.empty(); --heads) {
      if (good(heads)) text = fmt::format("{} heads (size {})", heads, width / heads);
    }
    for (std::int64_t heads = model_.heads + 1; heads <= width / kAlignedHeads; ++heads) {
      if (!good(heads)) continue;
      text += fmt::format("{}{} heads (size {})", text.empty() ? "" : " or ", heads, width / heads);
      break;
    }
    return text.empty() ? "choose another hidden size" : text + " would be aligned";
  }

  void check_pipeline() {
    if (plan_.vpp > 1 && plan_.pp == 1) {
      problem([&] {
        return fmt::format("vpp {}: chunks need pipeline stages, and pp is 1; vpp 1 would do",
                           plan_.vpp);
      });
      return;
    }
    const std::string unfit = stages_problem(plan_.schedule, plan_.pp, plan_.vpp);
    if (!unfit.empty()) problem([&] { return unfit; });
    const std::string refusal = plan_.layout.empty()
                                    ? stage_problem(model_.layers, plan_.pp, plan_.vpp,
                                                    software_.stage_dealing, plan_.stage_split)
                                    : layout_problem(plan_.layout, model_, plan_.pp * plan_.vpp);
    if (!refusal.empty()) {
      problem([&] { return refusal; });
      return;
    }
    if (tells_ == Tells::all && plan_.pp > 1 && plan_.layout.empty()) warn_of_uneven_stages();
  }

  void warn_of_uneven_stages() {
    const auto stages =
        deal_stages(model_.layers, plan_.pp, plan_.vpp, software_.stage_dealing, plan_.stage_split);
    if (plan_.stage_split != StageSplit::blocks) return;
    std::map<std::int64_t, std::int64_t, std::greater<>> counts;  // of stages, by their layers
    for (const StageContent& stage : stages) ++counts[stage.blocks];
    if (counts.size() > 1) {
      const std::int64_t most = counts.begin()->first;
      const std::int64_t last = stages.back().blocks;
      std::string others;
      for (const auto& [layers, count] : counts) {
        if (layers == most) continue;
        others += layers == last && count == 1 ? fmt::format(" and the last of {}", layers)
                                               : fmt::format(", {} of {}", count, layers);
      }
      warn("{} layers on pp {}: {} {} of {} layers{}; the speed is that of {}", model_.layers,
           plan_.pp, counts.begin()->second, plan_.vpp > 1 ? "chunks" : "stages", most, others,
           most);
    }
    warn_of_heavy_embedding();
  }

  /// A vocabulary whose embedding outweighs half a layer unbalances the end stages.
  void warn_of_heavy_embedding() {
    const double weight =
        static_cast<double>(embedding_parameters(
            model_, padded_vocab(model_.vocab, plan_.tp, software_.vocab_multiple))) /
        static_cast<double>(layer_parameters(model_));
    const std::int64_t chunks = plan_.pp * plan_.vpp;
    const std::int64_t below = (model_.layers + 2) / chunks * chunks - 2;
    if (weight < 0.5 || below < chunks || (model_.layers + 2) % chunks == 0) return;
    warn(
        "the embedding weighs as much as {:.1f} layers, on the first stage and the "
        "last: {} or {} layers with stage_split embedding-as-layer "
        "would balance pp {}",
        weight, below, below + chunks, plan_.pp);
  }

  void check_batch() {
    if (!request_.gbs) return;
    const std::int64_t unit = plan_.dp * plan_.mbs;
    if (plan_.gbs % unit != 0) {
      problem([&] {
        return fmt::format("gbs {}: not a multiple of dp {} x mbs {} = {}; {} would do", plan_.gbs,
                           plan_.dp, plan_.mbs, unit, nearest_multiples(unit, plan_.gbs));
      });
      return;
    }
    const Rounds taken = rounds(plan_.schedule, plan_.pp);
    if (taken.take(plan_.micro_batches())) return;
    problem([&] {
      return fmt::format(
          "gbs {}: schedule {} needs micro batches in {}, but there are {}; gbs {} would "
          "do",
          plan_.gbs, name(plan_.schedule), text_of(taken), plan_.micro_batches(),
          unit * taken.next(plan_.micro_batches()));
    });
  }

  void check_zero() {
    check_sharded_stages();
    check_sharding_group();
    if (plan_.offload != Offload::none && plan_.zero == 0) {
      problem("offload: needs ZeRO; zero 1 would do");
    } else if (plan_.offload == Offload::optimizer_params &&
               (plan_.zero < 3 || plan_.zero < software_.communication.fully_sharded_from_zero)) {
      problem([] {
        return std::string(
            "offload: only weights that are sharded leave the device; zero 3 would do");
      });
    }
    if (request_.zero && *request_.zero > 0 && plan_.dp == 1) {
      warn("zero {}: no effect with dp 1", plan_.zero);
    }
  }

  void check_optimizer() {
    if (plan_.optimizer_offload > 0 && plan_.offload != Offload::none) {
      problem([&] {
        return fmt::format("optimizer_offload {}: offload {} moves all states; 0 would do",
                           plan_.optimizer_offload, name(plan_.offload));
      });
    }
    const bool offloads = plan_.offload != Offload::none || plan_.optimizer_offload > 0;
    if (plan_.optimizer == Optimizer::muon && offloads) {
      problem("optimizer muon: orthogonalises on the device; offload none would do");
    }
    if (is_quantized(plan_.moments_precision) && plan_.optimizer == Optimizer::muon) {
      problem([&] {
        return fmt::format("moments_precision {}: no Muon keeps its momentum so; bf16 would do",
                           name(plan_.moments_precision));
      });
    }
  }

  void check_host_memory() {
    const std::string_view axis = plan_.offload != Offload::none   ? "offload"
                                  : plan_.optimizer_offload > 0    ? "optimizer_offload"
                                  : !plan_.offload_modules.empty() ? "offload_modules"
                                  : plan_.offload_layers > 0       ? "offload_layers"
                                                                   : "";
    if (axis.empty()) return;
    check_offloaded_layers();
    if (!cluster_.host.known()) {
      problem([&] {
        return fmt::format(
            "{}: cluster {} says nothing of its hosts (host.memory and "
            "host.memory_bandwidth); {} would do, or both keys, such as "
            "cluster.host.memory=\"1 TB\" and cluster.host.memory_bandwidth=\"200 GB/s\"",
            axis, cluster_.name, axis == "offload" ? "offload none" : fmt::format("no {}", axis));
      });
    }
    if (!request_.offload_modules || plan_.offload_modules.empty()) return;
    if (plan_.recompute == Recompute::full) {
      warn("offload_modules: no effect with recompute full");
    } else if (!model_.has_experts() && (plan_.offload_modules.has(OffloadModule::expert_fc1) ||
                                         plan_.offload_modules.has(OffloadModule::moe_act))) {
      warn("offload_modules expert_fc1, moe_act: no effect without experts");
    }
  }

  /// Megatron-Core lets whole layers leave the device where nothing else moves their activations.
  void check_offloaded_layers() {
    if (plan_.offload_layers == 0) return;
    constexpr std::int64_t kInTransit = 2;
    if (plan_.offload_layers <= kInTransit) {
      warn("offload_layers {}: no effect, as {} layers are in transit at a time",
           plan_.offload_layers, kInTransit);
    }
    const auto layers = [&] { return fmt::format("offload_layers {}", plan_.offload_layers); };
    if (plan_.offload_layers >= model_.layers) {
      problem([&] {
        return fmt::format("{}: the model has {} layers, one of which stays; {} would do", layers(),
                           model_.layers, model_.layers - 1);
      });
    }
    const std::string_view other =
        plan_.pp > 1                         ? "pipeline stages; pp 1 would do"
        : plan_.recompute != Recompute::none ? "recomputation; recompute none would do"
        : !plan_.offload_modules.empty()     ? "offload_modules; none of them would do"
        : !plan_.cuda_graphs.empty()         ? "cuda_graphs; none would do"
                                             : "";
    if (!other.empty()) problem([&] { return fmt::format("{}: not with {}", layers(), other); });
  }

  void check_sharded_stages() {
    if (plan_.zero < 2 || plan_.pp == 1) return;
    if (!stages_shard_gradients(plan_.zero, software_)) {
      problem([&] {
        return fmt::format(
            "zero {}: gradients that are sharded do not go with pipeline stages; zero "
            "1 does, or pp 1",
            plan_.zero);
      });
      return;
    }
    const ScheduleTraits its = traits(plan_.schedule);
    if (in_every_micro_batch(gathers_of(plan_, software_)) && (its.splits_backward || its.pairs)) {
      problem([&] {
        return fmt::format(
            "schedule {}: splits backward passes, for which {} gathers layers one by one; 1f1b "
            "would "
            "do",
            name(plan_.schedule), software_.name);
      });
    }
  }

  void check_sharding_group() {
    if (plan_.sharding_group == ShardingGroup::all) return;
    if (plan_.zero == 0) {
      warn("sharding_group node: no effect with zero 0");
    } else if (shard_groups(plan_, GroupAxis::data).shards.size == 1) {
      problem([&] {
        return fmt::format(
            "sharding_group node: the data-parallel ranks lie on a node each, so nothing is "
            "sharded; "
            "sharding_group all would do, or tp {}",
            nearest_divisor(plan_.tp, std::max<std::int64_t>(1, cluster_.devices_per_node / 2)));
      });
    }
  }

  /// As Megatron asserts: of full recompute, whose inputs sequence parallelism splits anyway.
  void check_saved_activations() {
    if (!plan_.distribute_saved_activations) return;
    constexpr const char* kField = "distribute_saved_activations";
    if (plan_.recompute != Recompute::full) {
      warn("{}: no effect without full recompute", kField);
    } else if (plan_.tp == 1) {
      warn("{}: no effect with tp 1", kField);
    } else if (plan_.sequence_parallel) {
      problem([&] {
        return fmt::format("{}: sequence_parallel splits them already; off would do", kField);
      });
    }
  }

  void check_recompute() {
    check_recomputed_layers();
    check_saved_activations();
    if (plan_.recompute_layers == 1) return;
    if (plan_.recompute != Recompute::full) {
      warn("recompute_layers {}: no effect without full recompute", plan_.recompute_layers);
      return;
    }
    const std::int64_t chunk = std::max<std::int64_t>(1, model_.layers / (plan_.pp * plan_.vpp));
    if (plan_.recompute_layers > chunk) {
      problem([&] {
        return fmt::format("recompute_layers {}: a stage holds {} layers at a time; {} would do",
                           plan_.recompute_layers, chunk, chunk);
      });
    }
  }

  /// Megatron's method `block`: the first layers of each chunk are repeated, the others keep all.
  void check_recomputed_layers() {
    if (plan_.recompute_first == 0) return;
    if (plan_.recompute != Recompute::full) {
      warn("recompute_first {}: no effect without full recompute", plan_.recompute_first);
      return;
    }
    if (plan_.recompute_layers > 1) {
      problem([&] {
        return fmt::format(
            "recompute_first {}: of single layers, not of {} at a time; "
            "recompute_layers 1 would do",
            plan_.recompute_first, plan_.recompute_layers);
      });
    }
    const std::int64_t chunks = plan_.pp * plan_.vpp;
    if (const std::int64_t most = (model_.layers + chunks - 1) / chunks;
        plan_.recompute_first >= most) {
      warn("recompute_first {}: a chunk has {} layers, all of which are recomputed, as with 0",
           plan_.recompute_first, most);
    }
    const double repeated = static_cast<double>(plan_.recompute_first * plan_.pp * plan_.vpp);
    plan_.recomputed = std::min(1.0, repeated / static_cast<double>(model_.layers));
  }

  void check_sequence() {
    if (model_.position == PositionEmbedding::learned && plan_.seq_len > model_.max_positions) {
      problem([&] {
        return fmt::format("seq_len {}: the model has {} learned positions; {} would do",
                           plan_.seq_len, model_.max_positions, model_.max_positions);
      });
    } else if (plan_.seq_len > model_.max_positions) {
      warn("seq_len {} is longer than the model's max_position_embeddings {}", plan_.seq_len,
           model_.max_positions);
    }
  }

  /// Of a plan that nobody can run on this stack, the price is still worth knowing.
  void check_offered() {
    each_axis([this](const auto& axis) {
      if constexpr (!std::is_scalar_v<typename std::decay_t<decltype(axis)>::Value>) return;
      const auto& offered = axis.of(software_.choices);
      const auto& value = axis.of(plan_);
      if (offered.empty() || std::find(offered.begin(), offered.end(), value) != offered.end()) {
        return;
      }
      std::vector<std::string> texts;
      for (const auto& each : offered) texts.push_back(plain(each));
      warn("{} {}: {} offers {}; priced all the same", axis.name, plain(value), software_.name,
           fmt::join(texts, ", "));
    });
  }

  static std::string plain(bool value) { return value ? "true" : "false"; }
  static std::string plain(const auto& value) { return cell_of(value); }

  const PlanRequest& request_;
  const Transformer& model_;
  const Cluster& cluster_;
  const Software& software_;
  Tells tells_;
  bool is_legal_{true};
  Plan plan_;
  std::vector<std::string> problems_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::string assumed_sequence(const PlanRequest& request, const Transformer& model) {
  if (request.seq_len || model.max_positions <= kLongSequence) return {};
  return fmt::format("seq_len: not said, the model's max_position_embeddings {} is taken",
                     model.max_positions);
}

PlanJudgement judge_plan(const PlanRequest& request, const Transformer& model,
                         const Cluster& cluster, const Software& software) {
  return Resolver(request, model, cluster, software, Tells::problems).judge();
}

std::optional<Plan> legal_plan(const PlanRequest& request, const Transformer& model,
                               const Cluster& cluster, const Software& software) {
  Resolver resolver(request, model, cluster, software, Tells::nothing);
  PlanJudgement judged = resolver.judge();
  if (!resolver.is_legal()) return std::nullopt;
  return std::move(judged.plan);
}

ResolvedPlan resolve_plan(const PlanRequest& request, const Transformer& model,
                          const Cluster& cluster, const Software& software) {
  PlanJudgement judged = Resolver(request, model, cluster, software, Tells::all).judge();
  if (!judged.problems.empty()) throw InputError(judged.problems);
  return {std::move(judged.plan), std::move(judged.warnings)};
}

}  // namespace prequel
