#include "sim/price/layer_question.hpp"

#include "sim/price/side_by_side.hpp"

namespace prequel {

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

}  // namespace prequel
