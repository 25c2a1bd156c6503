#include "cli/import/python/python_values.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestRecipe = 1u << 20;
constexpr std::size_t kLongestArguments = 1u << 14;
constexpr std::size_t kLongestValue = 100;
constexpr std::size_t kMostSettings = 256;
constexpr int kMostNames = 256;  // that are looked up in all of the program

/// How the call of a recipe ends, and how its program starts it.
struct Call {
  std::string_view ending;
  std::string_view command;
  bool member{};    ///< of a module that has the recipe's name
  bool adapters{};  ///< unless it is told otherwise
};
constexpr Call kCalls[] = {
    {"pretrain_recipe(", "nemo llm pretrain --factory", true, false},
    {"finetune_recipe(", "nemo llm finetune --factory", true, true},
    {"_pretrain_config(", "torchrun run_recipe.py --recipe", false, false},
    {"_finetune_config(", "torchrun run_recipe.py --recipe", false, false},
    {"_sft_config(", "torchrun run_recipe.py --recipe", false, false},
};

/// A recipe's arguments and the command line's names for the same settings.
constexpr std::pair<std::string_view, std::string_view> kArguments[] = {
    {"num_nodes", "trainer.num_nodes"},
    {"num_gpus_per_node", "trainer.devices"},
    {"tensor_parallelism", "trainer.strategy.tensor_model_parallel_size"},
    {"pipeline_parallelism", "trainer.strategy.pipeline_model_parallel_size"},
    {"context_parallelism", "trainer.strategy.context_parallel_size"},
    {"virtual_pipeline_parallelism", "trainer.strategy.virtual_pipeline_model_parallel_size"},
    {"sequence_parallelism", "trainer.strategy.sequence_parallel"},
    {"micro_batch_size", "data.micro_batch_size"},
    {"global_batch_size", "data.global_batch_size"},
    {"seq_length", "data.seq_length"},
    {"packed_sequence_size", "data.seq_length"},
    {"peft_scheme", "peft.peft_scheme"},
    {"peft", "peft.peft_scheme"},
};

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The name that ends before `at`.
std::string_view name_before(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_name_letter(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

/// A number, a word of Python or a text in quotes, as a command line has it.
std::optional<std::string> literal(std::string_view value) {
  value = stripped(value);
  if (value.empty() || value.size() > kLongestValue) return std::nullopt;
  if (value == "True" || value == "False") return value == "True" ? "true" : "false";
  if (value == "None") return "null";
  if (value.front() == '"' || value.front() == '\'') {
    const bool plain = value.size() > 1 && value.back() == value.front() &&
                       value.find_first_of(" $`;|&\\", 1) == std::string_view::npos;
    return plain ? std::optional<std::string>(value.substr(1, value.size() - 2)) : std::nullopt;
  }
  std::string number(value);
  std::erase(number, '_');
  const bool whole =
      std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
  return whole ? std::optional(number) : std::nullopt;
}

/// Returns the literal that follows `name =` or `name: int =` up to the end of the line, a comma or
/// a bracket; the first one counts.
std::optional<std::string> default_of(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t behind = at + name.size();
    const bool alone = (at == 0 || (!is_name_letter(text[at - 1]) && text[at - 1] != '.')) &&
                       (behind == text.size() || !is_name_letter(text[behind]));
    if (!alone) continue;
    std::string_view rest = text.substr(behind, kLongestValue);
    rest = rest.substr(0, rest.find_first_of(",)\n#"));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || rest.substr(equals, 2) == "==") continue;
    const std::string_view between = stripped(rest.substr(0, equals));
    if (!between.empty() && between.front() != ':') continue;
    if (auto value = literal(rest.substr(equals + 1))) return value;
  }
  return std::nullopt;
}

std::optional<std::string> value_of(std::string_view text, std::string_view value, int& names) {
  value = stripped(value.substr(0, value.find('#')));
  if (auto known = literal(value)) return known;
  if (value.empty() || !std::ranges::all_of(value, is_name_letter)) return std::nullopt;
  if (names++ >= kMostNames) return std::nullopt;
  return default_of(text, value);
}

/// Returns the text between the brackets of a call, argument by argument.
std::vector<std::string_view> arguments_at(std::string_view text) {
  std::vector<std::string_view> all;
  int depth = 0;
  std::size_t begin = 0;
  text = text.substr(0, kLongestArguments);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool ends = depth == 0 && (c == ')' || c == ',');
    if (ends) {
      all.push_back(text.substr(begin, at - begin));
      begin = at + 1;
      if (c == ')') return all;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  return {};
}

/// The function of a recipe that a program imports under another name, or from a module that has
/// the recipe's: `import qwen3_8b_pretrain_config as config`, `from recipes.llama3_8b import
/// pretrain_config`.
struct Imported {
  std::string_view recipe, name;
};
std::optional<Imported> imported_recipe(std::string_view text) {
  constexpr std::string_view kEndings[] = {"pretrain_config", "finetune_config", "sft_config"};
  constexpr std::string_view kFrom = "from ";
  constexpr std::string_view kImport = " import ";
  constexpr std::string_view kAs = " as ";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = stripped(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t at = line.find(kImport);
    if (!line.starts_with(kFrom) || at == std::string_view::npos) continue;
    if (line.find(".recipes") == std::string_view::npos) continue;
    const std::string_view what = stripped(line.substr(at + kImport.size()));
    const std::string_view function = what.substr(0, what.find(' '));
    const bool recipe = std::ranges::any_of(
        kEndings, [&](std::string_view ending) { return function.ends_with(ending); });
    if (!recipe || !std::ranges::all_of(function, is_name_letter)) continue;
    const std::size_t as = what.find(kAs);
    const bool bare = std::ranges::find(kEndings, function) != std::end(kEndings);
    const std::string_view module = name_before(line, at);
    const std::string_view name =
        as == std::string_view::npos ? function : stripped(what.substr(as + kAs.size()));
    if (name.empty() || !std::ranges::all_of(name, is_name_letter)) continue;
    return Imported{bare ? module : function, name};
  }
  return std::nullopt;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

void add_arguments(std::string_view text, std::string_view call, Settings& settings) {
  int names = 0;
  for (std::string_view argument : arguments_at(call)) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = stripped(argument.substr(0, equals));
    const auto* const known =
        std::ranges::find_if(kArguments, [&](const auto& one) { return one.first == name; });
    const auto value = value_of(text, argument.substr(equals + 1), names);
    if (known != std::end(kArguments) && value) settings.emplace_back(known->second, *value);
  }
}

/// `recipe.trainer.max_steps = 100`, by the path behind the recipe's own name.
void add_assignments(std::string_view text, Settings& settings) {
  int names = 0;
  std::string_view rest = text;
  while (!rest.empty() && settings.size() < kMostSettings) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = stripped(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.substr(equals, 2) == "==") continue;
    const std::string_view path = stripped(line.substr(0, equals));
    const std::size_t dot = path.find('.');
    const bool plain =
        dot != std::string_view::npos && dot > 0 &&
        std::ranges::all_of(path, [](char c) { return is_name_letter(c) || c == '.'; });
    if (!plain) continue;
    if (const auto value = value_of(text, line.substr(equals + 1), names)) {
      settings.emplace_back(path.substr(dot + 1), *value);
    }
  }
}

std::string command_with(std::string_view start, std::string_view recipe,
                         const Settings& settings) {
  std::string command = std::string(start) + " " + std::string(recipe);
  for (const auto& [path, value] : settings) command += " " + path + "=" + value;
  return command + "\n";
}

}  // namespace

std::string command_of_recipe(std::string_view python) {
  if (python.size() > kLongestRecipe) return {};
  if (const auto imported = imported_recipe(python)) {
    Settings settings;
    const std::size_t call = python.find(std::string(imported->name) + "(");
    if (call != std::string_view::npos) {
      add_arguments(python, python.substr(call + imported->name.size() + 1), settings);
    }
    add_assignments(python, settings);
    return command_with("torchrun run_recipe.py --recipe", imported->recipe, settings);
  }
  for (const Call& call : kCalls) {
    for (std::size_t at = python.find(call.ending); at != std::string_view::npos;
         at = python.find(call.ending, at + 1)) {
      std::string name;
      if (call.member) {
        if (at == 0 || python[at - 1] != '.') continue;
        name = name_before(python, at - 1);
      } else {
        const std::string_view before = name_before(python, at);
        const bool defined = python.substr(0, at - before.size()).ends_with("def ");
        if (defined || before.empty()) continue;
        name = std::string(before) + std::string(call.ending.substr(0, call.ending.size() - 1));
      }
      if (name.empty() || name == "llm" || name == "recipe") continue;
      Settings settings;
      add_arguments(python, python.substr(at + call.ending.size()), settings);
      add_assignments(python, settings);
      const bool told = std::ranges::any_of(
          settings, [](const auto& one) { return one.first == "peft.peft_scheme"; });
      if (call.adapters && !told) settings.emplace_back("peft.peft_scheme", "lora");
      return command_with(call.command, name, settings);
    }
  }
  return {};
}

}  // namespace prequel
