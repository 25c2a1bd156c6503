#pragma once

/// What a plan changes in the model that it trains.

#include "models/axes/axes.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

/// Returns the model as `plan` trains it: how many of its last layers learn; and for a reward, one
/// score instead of words (a head of one row beside the embedding, as transformers'
/// ForSequenceClassification has it).
Transformer trained_model(Transformer model, const PlanRequest& plan);

}  // namespace prequel
