#include "models/plan/idle_requests.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/axes/axis_text.hpp"
#include "models/plan/expert_groups.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/overlap.hpp"
#include "models/plan/stages.hpp"

namespace prequel {
namespace {

class IdleRequests {
 public:
  IdleRequests(const PlanRequest& request, const Plan& plan, const Transformer& model,
               const Software& software)
      : request_(request), plan_(plan), model_(model), software_(software) {}

  std::vector<std::string> tell() && {
    if (request_.overlap && plan_.overlap != kNoneOf<Overlapped>) {
      tell_stack_overlap();
      tell_plan_overlap();
      tell_shared_experts();
    }
    tell_axes();
    if (request_.cuda_graphs && why_idle("cuda_graphs").empty()) tell_graphs();
    if (request_.stage_split && plan_.pp > 1) tell_split();
    return std::move(told_);
  }

 private:
  template <class... Values>
  void tell(fmt::format_string<Values...> text, Values&&... values) {
    told_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  /// Tells of overlap that the stack has, or leaves out, by itself.
  void tell_stack_overlap() {
    if (plan_.overlap.has(Overlapped::tp) && plan_.tp > 1 &&
        !software_.communication.overlaps_tensor()) {
      tell("overlap tp: no effect, {} hides none of its tensor-parallel communication so",
           software_.name);
    }
    if (plan_.overlap.has(Overlapped::wgrad)) {
      tell("overlap wgrad: priced as {} does it by itself", software_.name);
    }
  }

  /// Words that nothing of the plan is the matter of.
  void tell_plan_overlap() {
    using enum Overlapped;
    const auto without_effect = [&](Overlapped word, Overlapped opposite, const char* why) {
      if (plan_.overlap.has(word)) tell("overlap {}: no effect with {}", name(word), why);
      if (plan_.overlap.has(opposite)) tell("overlap {}: no effect with {}", name(opposite), why);
    };
    if (plan_.overlap.has(tp) && plan_.tp == 1) tell("overlap tp: no effect with tp 1");
    if (plan_.overlap.has(ep) && !exchanges_tokens(plan_, model_)) {
      tell("overlap ep: no effect {}", model_.has_experts() ? "with ep 1" : "without experts");
    }
    const bool alone = !has_replicas(plan_, model_);
    if (alone) without_effect(grads, no_grads, "dp 1");
    if (alone) {
      without_effect(params, no_params, "dp 1");
    } else if (plan_.zero == 0) {
      without_effect(params, no_params, "zero 0");
    } else if (gathers_of(plan_, software_) != Gathers::updates) {
      if (plan_.overlap.has(grads)) {
        tell("overlap grads: no effect with zero {}, which reduces layer by layer", plan_.zero);
      }
    } else if (!reduces_beside(plan_, software_)) {
      without_effect(params, no_params, "gradients that are reduced after the passes");
    }
    if (plan_.pp == 1) without_effect(p2p, no_p2p, "pp 1");
  }

  void tell_shared_experts() {
    if (!plan_.overlap.has(Overlapped::shared_experts)) return;
    if (model_.experts.shared_hidden == 0) {
      tell("overlap shared-experts: no effect, the model has none");
    } else if (plan_.dispatcher != Dispatcher::alltoall || plan_.overlap.has(Overlapped::ep)) {
      tell("overlap shared-experts: no effect but with dispatcher alltoall and without overlap ep");
    }
  }

  void tell_axes() {
    each_axis([this](const auto& axis) {
      const std::string_view why = why_idle(axis.name);
      const auto& asked = axis.of(request_);
      if (why.empty() || !asked) return;
      const auto& usual = axis.of(software_.defaults);
      const auto plain = plainest(axis.domain);
      if (*asked == (usual ? *usual : plain) || *asked == plain) return;
      tell("{} {}: no effect {}", axis.name, cell_of(*asked), why);
    });
  }

  /// Why an axis has no effect in this plan, if it has none.
  [[nodiscard]] std::string_view why_idle(std::string_view axis) const {
    if (axis == "cp_comm" && plan_.cp == 1) return "with cp 1";
    if ((axis == "schedule" || axis == "stage_split") && plan_.pp == 1) return "with pp 1";
    if (axis == "vpp_group" && !traits(plan_.schedule).interleaved) {
      return "without an interleaved schedule";
    }
    if (axis == "router_balance" && !model_.has_experts()) return "without experts";
    if (axis == "dispatcher" && !exchanges_tokens(plan_, model_)) {
      return model_.has_experts() ? "with ep 1" : "without experts";
    }
    if (axis == "compile" && !software_.kernels.may_be_eager()) {
      return "where the stack states nothing of kernels with and without it";
    }
    const bool counts_launches = software_.host.one_launch.value > 0;
    if (axis == "cuda_graphs" && !counts_launches) return "where the stack counts no launches";
    return {};
  }

  /// Modules that the model has none of, or whose launches nobody counted.
  void tell_graphs() {
    using enum GraphedModule;
    const WordSet<GraphedModule> graphs = plan_.cuda_graphs;
    if (graphs.has(full)) return;
    for (const GraphedModule each : {moe, moe_router, moe_preprocess}) {
      if (!graphs.has(each)) continue;
      if (!model_.has_experts()) {
        tell("cuda_graphs {}: no effect without experts", name(each));
      } else if (each == moe_preprocess) {
        tell("cuda_graphs moe_preprocess: no effect, as its launches are not counted apart");
      }
    }
    const bool recurrent = std::ranges::any_of(distinct_kinds(model_), [](const LayerKind& kind) {
      return kind.mixer != Mixer::none && !is_softmax(kind.mixer);
    });
    if (graphs.has(mamba) && !recurrent) {
      tell("cuda_graphs mamba: no effect without layers that go along the sequence with a state");
    }
    const bool all_experts = std::ranges::all_of(distinct_kinds(model_), &LayerKind::has_experts);
    if (graphs.has(mlp) && all_experts) tell("cuda_graphs mlp: no effect, all are experts");
  }

  /// Where another split was asked for and the stages are the same.
  void tell_split() {
    const auto usual = software_.defaults.stage_split.value_or(StageSplit::blocks);
    if (plan_.stage_split == usual) return;
    const auto dealt = [&](StageSplit split) {
      return deal_stages(model_.layers, plan_.pp, plan_.vpp, software_.stage_dealing, split);
    };
    if (!plan_.layout.empty()) {
      tell("stage_split {}: no effect with a layout", name(plan_.stage_split));
    } else if (stage_problem(model_.layers, plan_.pp, plan_.vpp, software_.stage_dealing, usual)
                   .empty() &&
               dealt(plan_.stage_split) == dealt(usual)) {
      tell("stage_split {}: no effect, the stages are those of {}", name(plan_.stage_split),
           name(usual));
    }
  }

  const PlanRequest& request_;
  const Plan& plan_;
  const Transformer& model_;
  const Software& software_;
  std::vector<std::string> told_;
};

}  // namespace

std::vector<std::string> idle_requests(const PlanRequest& request, const Plan& plan,
                                       const Transformer& model, const Software& software) {
  return IdleRequests(request, plan, model, software).tell();
}

}  // namespace prequel
