#pragma once

/// The stack of a run that names none.

#include <string>

#include "hw/cluster.hpp"
#include "models/axes/axes.hpp"

namespace prequel {

class Document;

/// Tests whether an axis splits tensors, layers, sequences or experts over ranks.
constexpr bool splits_model(RankRole role) {
  return role == RankRole::replica || role == RankRole::in_stage;
}

/// Tests whether adapters learn on ranks that hold the whole model, as PEFT trains them. `said`
/// returns the text of an axis' values, empty where nothing is said.
bool trains_whole_adapters(const auto& said) {
  bool whole = false;
  bool split = false;
  each_axis([&](const auto& axis) {
    if (splits_model(axis.role) && !said(axis).empty() && said(axis) != "1") split = true;
    if (axis.name != "tuning") return;
    whole = trains_adapters(named<Tuning>(said(axis)).value_or(Tuning::full));
  });
  return whole && !split;
}
bool trains_whole_adapters(const PlanRequest& plan);

/// Returns the stack by which such adapters are usually trained, of data/stand_ins/stacks.json.
std::string adapter_software(const Document& stacks);

/// Returns the stack by which such a run is usually trained: the cluster's for its kind of model,
/// or that of adapters on whole models. `library` opens the file that names it.
std::string usual_software(const auto& library, const Cluster& cluster, bool has_experts,
                           const PlanRequest& plan) {
  return trains_whole_adapters(plan) ? adapter_software(library.open("stand_ins", "stacks"))
                                     : usual_software(cluster, has_experts);
}

}  // namespace prequel
