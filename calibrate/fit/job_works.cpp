#include "calibrate/fit/job_works.hpp"

#include <set>
#include <string>
#include <variant>

#include "sim/price/pricing.hpp"

namespace prequel {
namespace {

/// Chunks of attention are sequences of their own.
FusedAttention in_chunks(FusedAttention attention) {
  if (attention.chunk <= 0 || attention.chunk >= attention.seq) return attention;
  attention.batch *= attention.seq / attention.chunk;
  attention.seq = attention.chunk;
  return attention;
}

/// Keeps each work once.
class WorkList {
 public:
  WorkList(const GroupShape& tensor_group, const Device& device)
      : device_(device),
        ranks_(static_cast<int>(tensor_group.ranks)),
        nodes_(static_cast<int>(tensor_group.ranks / tensor_group.ranks_in_node)) {}

  void add(const Operators& operators) {
    for (const Operator& op : operators) {
      if (const auto* gemm = std::get_if<Gemm>(&op.what)) add(*gemm);
      if (const auto* grouped = std::get_if<GroupedGemm>(&op.what)) {
        if (grouped->rows >= grouped->groups) add(*grouped);  // else some expert has none
      }
      if (const auto* cast = std::get_if<Cast>(&op.what)) {
        add(stream_of(*cast, device_.fp8_in_any_order));
      }
      if (const auto* attention = std::get_if<FusedAttention>(&op.what)) add(in_chunks(*attention));
      if (const auto* stream = std::get_if<Stream>(&op.what)) {
        if (stream->bytes.value >= 1.0) add(*stream);  // else the stack states its time instead
      }
      if (const auto* collective = std::get_if<GroupCollective>(&op.what)) {
        if (collective->axis != GroupAxis::tensor) continue;
        add(CollectiveWork{collective->op, ranks_, nodes_, collective->bytes});
      }
    }
  }

  void add(const Work& work) {
    if (seen_.insert(work_text(work)).second) works_.push_back(work);
  }

  [[nodiscard]] std::vector<Work> works() && { return std::move(works_); }

 private:
  const Device& device_;
  int ranks_;
  int nodes_;
  std::set<std::string> seen_;
  std::vector<Work> works_;
};

}  // namespace

std::vector<Work> job_works(const Scenario& scenario) {
  const Transformer& model = scenario.model;
  const Software& software = scenario.software;
  const LayerSetting setting = layer_setting(scenario.plan);
  const PartCounts held = parts_of(model);
  WorkList list(group_shape(scenario.cluster, scenario.plan.gpus, scenario.plan.tp, 1),
                scenario.device);
  const auto add = [&](Part part) {
    if (held[part] == 0) return;
    const Layer layer = tell_part(part, model, setting, software);
    list.add(forward_operators(layer, software));
    list.add(backward_operators(layer, software));
  };
  each_part([&](Part part) {
    if (is_block(part)) add(part);
  });
  for (const Part part : {Part::head, Part::next_token, Part::embedding}) add(part);
  if (setting.attention != AttentionKind::flash) {
    list.add(
        AttentionChain{setting.mbs, setting.seq_len, model.heads / setting.tp, model.head_dim});
  }
  return std::move(list).works();
}

}  // namespace prequel
