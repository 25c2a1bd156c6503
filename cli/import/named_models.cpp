#include "cli/import/named_models.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/settings/by_name.hpp"
#include "cli/import/shell/launch_script.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestClue = 512;

/// Tests whether a name in any case has a part of a list (`ForeignNames::words_of`).
bool has_one(const std::string& name, const char* list, const ImportedJob& job) {
  return has_part(lower_case(name), job.names->words_of(list));
}

void note(ClueRank rank, std::string what, const std::string& text, ImportedJob& job) {
  constexpr std::size_t kMostClues = 4096;
  const bool flags = text.find("--") != std::string::npos;
  if (text.empty() || flags || text.size() > kLongestClue) return;
  if (job.model_clues.size() >= kMostClues) return;
  const bool names_models = rank < ClueRank::word && rank != ClueRank::variable;
  job.model_clues.push_back({rank, std::move(what), text, names_models});
}

/// All that may name the model, the likeliest first.
std::vector<ImportedClue> clues_of(const ImportedJob& job) {
  ImportedJob noted;
  note(ClueRank::named, "the model", job.text("model_named"), noted);
  for (const ImportedClue& one : job.model_clues) {
    if (one.rank != ClueRank::flag || has_one(one.what, "other_models", job)) continue;
    // The name of a flag may tell the family: --load-llama-config 7b.
    note(one.rank, one.what, one.text, noted);
    note(one.rank, one.what, one.what.substr(one.what.find_first_not_of('-')) + " " + one.text,
         noted);
  }
  note(ClueRank::configuration, "the configuration", job.text("yaml_config_file"), noted);
  for (const std::string& one : job.tokenizer)
    note(ClueRank::tokenizer, "the tokenizer", one, noted);
  std::vector<ImportedClue> clues = std::move(noted.model_clues);
  std::ranges::copy_if(job.model_clues, std::back_inserter(clues),
                       [](const ImportedClue& one) { return one.rank != ClueRank::flag; });
  std::stable_sort(
      clues.begin(), clues.end(),
      [](const ImportedClue& one, const ImportedClue& other) { return one.rank < other.rank; });
  return clues;
}

/// The model that is named within the likeliest text. Nothing where the files say some of a shape,
/// which may not be of that model, or name another model with its size.
std::optional<std::string> named_within(const Library& library, ImportedJob& job) {
  const ImportedModel& said = job.model;
  const bool reinforced = std::ranges::any_of(job.report.left_out, [](const std::string& line) {
    return line.find("learns by reinforcement") != std::string::npos;
  });
  if (said.layers || said.hidden || reinforced) return std::nullopt;
  const std::vector<ImportedClue> clues = clues_of(job);
  const bool another = says_size(job.text("model_named"));
  std::vector<ModelClue> texts;
  for (const ImportedClue& one : clues) {
    if (another && one.rank != ClueRank::named) continue;
    texts.push_back({one.text, one.names_models});
  }
  const auto found = library.model_within(texts);
  if (!found) return std::nullopt;
  const ImportedClue& clue = clues[found->clue];
  job.report.assumed.push_back(fmt::format("the model {}: named in {} {}", found->file,
                                           printable(clue.what, 80), printable(clue.text, 100)));
  return found->file;
}

}  // namespace

void note_model_clues(const LaunchScript& script, ImportedJob& job) {
  for (const auto& [name, value] : script.state.variables) {
    if (has_one(name, "model_variables", job) && !has_one(name, "other_models", job))
      note(ClueRank::variable, name, value, job);
  }
  std::string flag;    // the last one
  bool first = false;  // whether the word stands right behind it
  for (const std::string& word : script.words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const bool behind = word.starts_with("--");
    if (behind) flag = word.substr(0, equals);
    const std::string what = !flag.empty() && (behind || first) ? flag : "the word";
    first = behind;
    const std::string text = behind ? word.substr(std::min(equals + 1, word.size())) : word;
    if (word == kCommandEnd) {
      flag.clear();
    } else if (word.ends_with(".py") && !behind) {
      note(ClueRank::program, "the program", word, job);
    } else if (!has_one(flag, "other_models", job) && text.find('$') == std::string::npos) {
      note(ClueRank::word, what, text, job);
    }
  }
}

void note_file_clue(const std::string& file, ImportedJob& job) {
  note(ClueRank::file, "the file", std::filesystem::path(file).filename().string(), job);
}

namespace {

/// Layers and a width by themselves say little of a shape; where the model of these is named, the
/// rest is its own. A model of others is told.
void compare_with_named(const Library& library, ImportedJob& job) {
  std::optional<std::string> file;
  if (job.says("model_named")) file = library.model_file(job.text("model_named"));
  for (const ImportedClue& one : file ? std::vector<ImportedClue>() : clues_of(job)) {
    if (file || one.rank > (job.says("shape_by_name") ? ClueRank::flag : ClueRank::named)) break;
    if (const auto found = library.model_within({{one.text, true}})) file = found->file;
  }
  if (!file) return;
  const ImportedModel known = imported_model(library.open("models", *file));
  ImportedModel& model = job.model;
  const std::int64_t stages = job.plan.pp.value_or(1);
  const std::int64_t layers = known.layers.value_or(0);
  const bool of_a_stage = known.hidden == model.hidden && *model.layers < (1 << 20) && stages > 1 &&
                          stages < (1 << 20) && *model.layers < layers &&
                          *model.layers * stages >= layers && *model.layers * (stages - 1) < layers;
  if (of_a_stage) {  // OpenChatKit counts so
    job.report.assumed.push_back(
        fmt::format("{} layers: those of {}, which is named; {} are of each of {} stages", layers,
                    *file, *model.layers, stages));
    model.layers = layers;
  }
  if (known.layers != model.layers || known.hidden != model.hidden) {
    job.report.left_out.push_back(fmt::format(
        "the model {}, which is named, has {} layers of {}: predicted with {} of {}", *file,
        known.layers.value_or(0), known.hidden.value_or(0), *model.layers, *model.hidden));
    return;
  }
  if (model.ffn_hidden && model.mlp) return;
  take_what_is_missing(known, model);
  job.report.assumed.push_back(
      fmt::format("the rest of the shape: that of {}, which the files name", *file));
}

}  // namespace

void look_up_model(const Library* library, ImportedJob& job) {
  const bool whole = job.model.layers && job.model.hidden && !job.says("mark.model_overrides");
  if (library == nullptr) return;
  if (whole) return compare_with_named(*library, job);
  // Hugging Face's --config_name is a model's, too; else the program may have its model's name.
  const bool named = job.says("model_named");
  std::string name = named ? job.text("model_named") : job.text("yaml_config_file");
  auto file = library->model_file(name);
  if (!named && !file && name.ends_with("_full")) {  // torchtune's llama3_3/70B_full
    std::string family = name;
    std::ranges::replace(family, '/', '_');
    file = library->model_file(family);
    if (file) {
      job.note("--recipe");
      job.set_flag("mark.of.torchtune");
    }
  }
  const bool by_config = !named && file.has_value();
  const bool by_program = !named && !file;
  if (by_program) {
    name = job.text("model_of_program");
    file = library->model_file(name);
  }
  if (!file) {
    file = named_within(*library, job);
    if (file) name = *file;
  }
  if (!file) return;
  take_what_is_missing(imported_model(library->open("models", *file)), job.model);
  if (by_config) job.drop("yaml_config_file");
  if (by_program && name == job.text("model_of_program")) job.note("--recipe");
  if (job.says("--recipe")) {
    job.report.left_out.push_back(
        fmt::format("{}: prequel does not know the batches, layout, precision and recomputation "
                    "that it trains with by itself",
                    printable(name)));
  }
  job.report.read.push_back(fmt::format("{}: its shape, which prequel knows", printable(name)));
}

}  // namespace prequel
