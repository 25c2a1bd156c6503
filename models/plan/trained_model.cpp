#include "models/plan/trained_model.hpp"

#include <utility>

namespace prequel {

Transformer trained_model(Transformer model, const PlanRequest& plan) {
  model.learning_layers = plan.learning_layers.value_or(0);
  if (plan.objective == Objective::reward) {
    model.scores = true;
    model.tied_embeddings = true;  // no table of words behind the last layer
  }
  return model;
}

}  // namespace prequel
