#pragma once

/// Recipes of NeMo and Megatron-Bridge, as programs in Python ask for them: they are never run.

#include <string>
#include <string_view>

namespace prequel {

/// The command that asks for the same recipe with the same settings:
/// `llm.llama3_8b.pretrain_recipe` with `num_nodes=2` and `recipe.data.seq_length = 8192` as `nemo
/// llm pretrain --factory llama3_8b trainer.num_nodes=2 data.seq_length=8192`. Settings that are no
/// literals, nor names of such, are left out. Empty for a program without a recipe.
std::string command_of_recipe(std::string_view python);

}  // namespace prequel
