#include "cli/import/named_models.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/hugging_face_config.hpp"
#include "cli/import/megatron_flags.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "hw/base/text.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// What names have beside the model's own: who publishes it, what was trained on top, what a recipe
/// is for.
constexpr std::string_view kBeside[] = {"meta",     "hf",    "instruct", "chat",     "base",
                                        "it",       "sft",   "config",   "pretrain", "recipe",
                                        "finetune", "mcore", "bnb",      "4bit",     "full"};

bool is_version(std::string_view word) {
  return word.size() > 1 && word[0] == 'v' &&
         std::isdigit(static_cast<unsigned char>(word[1])) != 0 &&
         word.find('.') != std::string_view::npos;
}

/// Whether a word is a size, whose dot says how large: `1.3b` is not `13b`.
bool is_size(std::string_view word) {
  return word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
         (word.back() == 'b' || word.back() == 'm') &&
         word.find_first_not_of("0123456789.p") == word.size() - 1;
}

/// Letters and digits alone of `meta-llama/Llama-3.1-8B-Instruct`: llama318b. NeMo writes `1p5b`
/// for `1.5b`.
std::string bare(std::string_view name, bool versions) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  for (const std::string_view ending : {".yaml", ".yml", ".json", ".nemo"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  std::string all;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("-_ "), name.size());
    std::string word(name.substr(0, end));
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (is_size(word)) {
      std::ranges::replace(word, 'p', '.');
    } else if (!is_version(word)) {
      std::erase(word, '.');
    }
    const bool beside = std::ranges::find(kBeside, word) != std::end(kBeside);
    if (!beside && (versions || !is_version(word))) all += word;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return all;
}

/// The entry of the table that has the name; null where none does.
const nlohmann::json* entry_of(const nlohmann::json& table, const std::string& name) {
  for (const bool versions : {true, false}) {
    const std::string wanted = bare(name, versions);
    for (const nlohmann::json& one : table.at("models")) {
      for (const nlohmann::json& known : one.at("names")) {
        if (!wanted.empty() && bare(known.get<std::string>(), true) == wanted) return &one;
      }
    }
  }
  return nullptr;
}

}  // namespace

void look_up_model(const Library* library, ImportedJob& job) {
  const bool whole = job.model.layers && job.model.hidden && !job.says(kModelOverrides);
  if (library == nullptr || whole) return;
  const Document table = library->open("import", "models");
  expect_schema(table.root(), "prequel/named-models/1");
  // Hugging Face's --config_name is a model's, too; else the program may have its model's name.
  const bool named = !job.model_named.empty();
  std::string name = named ? job.model_named : job.yaml_config_file;
  const nlohmann::json* entry = entry_of(table.json(), name);
  if (!named && entry == nullptr && name.ends_with("_full")) {  // torchtune's llama3_3/70B_full
    std::string family = name;
    std::ranges::replace(family, '/', '_');
    entry = entry_of(table.json(), family);
    if (entry != nullptr) job.said.insert({{"--recipe", 1}, {"--tune", 1}});
  }
  const bool by_config = !named && entry != nullptr;
  const bool by_program = !named && entry == nullptr;
  if (by_program) {
    name = job.model_of_program;
    entry = entry_of(table.json(), name);
  }
  if (entry == nullptr && !named) {
    for (const auto& [flag, value] : job.models_perhaps) {
      entry = entry_of(table.json(), value);
      if (entry == nullptr) continue;
      name = value;
      job.report.assumed.push_back(fmt::format("the model {}: {}, by its name", value, flag));
      break;
    }
  }
  if (entry == nullptr) return;
  ImportedJob known;
  if (const auto model = entry->find("model"); model != entry->end()) {
    known.model = imported_model(library->open("models", model->get<std::string>()));
  } else {
    read_hugging_face_config(Document::from(name, entry->at("config")), known);
  }
  take_what_is_missing(known.model, job.model);
  if (by_config) job.yaml_config_file.clear();
  if (by_program && name == job.model_of_program) job.said.try_emplace("--recipe", 1);
  if (job.says("--recipe")) {
    job.report.left_out.push_back(
        fmt::format("{}: its batches, layout, precision and recomputation where the command line "
                    "does not say them; what it trains with by itself is not known here",
                    printable(name)));
  }
  job.report.read.push_back(fmt::format("{}: its shape, which prequel knows", printable(name)));
}

}  // namespace prequel
