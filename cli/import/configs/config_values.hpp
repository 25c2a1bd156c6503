#pragma once

/// Configurations whose keys are Megatron's arguments or like them: in YAML (NeMo, Megatron-Bridge,
/// Primus, Megatron's --yaml-cfg, GPT-NeoX, nanotron, accelerate, Hugging Face's Trainer), in TOML
/// (torchtitan), and in Python that is plain assignments (nanoGPT, InternEvo).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Scalars by their path, `model.hidden_size`; the items of a list between blanks.
using ConfigValues = std::map<std::string, std::string>;

/// Reads values into `job` as the flags that say the same. Keys are known by their names, whatever
/// section they are in (those of validation, inference and the like aside); `${a.b}` and
/// `${NAME:default}` stand for what they name. Other keys are listed as ignored. The job's settings
/// are set over them.
void read_config_values(const std::string& file, const ConfigValues& own, Facts& job);

/// A configuration as a tree, whatever language it is in; scalars are texts.
using ConfigTree = nlohmann::ordered_json;

/// Reads TOML. Throws InputError, naming `file`, for what is none or over 1 MiB.
ConfigTree toml_tree(const std::string& file, std::string_view text);

/// Reads YAML, and tells of lines that are none. Throws InputError, naming `file`, for what is no
/// YAML with keys, nested deeper than 64 levels, or over 4 MiB with its aliases.
ConfigTree yaml_tree(const std::string& file, std::string_view text,
                     std::vector<std::string>& told);

/// Reads a tree into `job`, as `read_config_values` does; `language` is for messages. Throws
/// InputError for over 4 MiB of values.
void read_config_tree(const std::string& file, std::string_view language, const ConfigTree& tree,
                      Facts& job);
/// Reads the tree of YAML, whose text tells GPT-NeoX's, in the same way.
void read_yaml_config(const std::string& file, std::string_view text, const ConfigTree& tree,
                      Facts& job);

/// Tests whether a text looks like YAML with keys: its first line that says something is `key:`.
bool looks_like_yaml(std::string_view text);

/// Tests whether JSON, or YAML in braces, holds GPT-NeoX's own keys beside DeepSpeed's.
bool is_neox_config(std::string_view text);

/// Tests whether a text that begins with a brace has what JSON lacks: lines of comments, a comma
/// before a closing brace, or words as Python writes them.
bool is_yaml_in_braces(std::string_view text);

/// Returns the commands of a job's launch configuration (SkyPilot, Azure, dstack) as a script that
/// sets its variables first; empty where nothing in it has flags.
std::string commands_of_tree(const ConfigTree& tree);

/// Reads its values into `job`, as those of other configurations. Throws InputError for programs.
void read_python_config(const std::string& file, std::string_view text, Facts& job);

}  // namespace prequel
