#include "models/job/model_names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

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

}  // namespace

std::optional<std::string> model_called(const std::string& name,
                                        const std::vector<std::string>& files,
                                        const Document& names) {
  if (std::ranges::find(files, name) != files.end()) return name;
  const Cursor root = names.root();
  expect_schema(root, "prequel/model-names/1");
  for (const bool versions : {true, false}) {
    const std::string wanted = bare(name, versions);
    if (wanted.empty()) continue;
    const auto means_it = [&](const std::string& known) { return bare(known, true) == wanted; };
    const auto file = std::ranges::find_if(files, means_it);
    if (file != files.end()) return *file;
    for (const Cursor& one : root.at("models").items()) {
      const auto others = one.at("names").items();
      if (std::ranges::any_of(others, [&](const Cursor& each) { return means_it(each.text()); })) {
        return one.at("model").text();
      }
    }
  }
  return std::nullopt;
}

}  // namespace prequel
