#pragma once

/// Values of Python's plain assignments, and recipes whose calls stand for a command line.

#include <map>
#include <string>
#include <string_view>

namespace prequel {

/// Tests whether the first line of code is one of Python's: an import, or an assignment that no
/// shell has.
bool looks_like_python(std::string_view text);

/// The values by their paths: literals and arithmetic of them, names assigned before, tuples,
/// lists, dicts, and what constructors are given by name. Other values stand as `$` and their text.
/// Throws InputError that names the line of a statement that is no assignment, which makes a
/// program.
std::map<std::string, std::string> python_values(const std::string& file, std::string_view text);

/// The command that asks for the same recipe with the same settings:
/// `llm.llama3_8b.pretrain_recipe` with `num_nodes=2` and `recipe.data.seq_length = 8192` as `nemo
/// llm pretrain --factory llama3_8b trainer.num_nodes=2 data.seq_length=8192`. Settings that are no
/// literals, nor names of such, are left out. Empty for a program without a recipe.
std::string command_of_recipe(std::string_view python);

}  // namespace prequel
