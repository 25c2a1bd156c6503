#include "models/job/model_names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

/// Words that names have beside the model's own: the publisher, a further training, the purpose of
/// a recipe.
constexpr std::string_view kBeside[] = {"meta",     "hf",    "instruct", "chat",     "base",
                                        "it",       "sft",   "config",   "pretrain", "recipe",
                                        "finetune", "mcore", "bnb",      "4bit",     "full",
                                        "models",   "model", "nvidia",   "bf16"};

bool is_version(std::string_view word) {
  return word.size() > 1 && word[0] == 'v' &&
         std::isdigit(static_cast<unsigned char>(word[1])) != 0 &&
         word.find('.') != std::string_view::npos;
}

/// Tests whether a word is a size, whose dot says how large: `1.3b` is not `13b`.
bool is_size(std::string_view word) {
  return word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
         (word.back() == 'b' || word.back() == 'm') &&
         word.find_first_not_of("0123456789.p") == word.size() - 1;
}

/// Words that make another model of what the words beside them name.
constexpr std::string_view kOtherKinds[] = {"vl",    "vlm",    "vision", "llava",    "clip",
                                            "audio", "speech", "omni",   "image",    "video",
                                            "mamba", "rwkv",   "moe",    "embedding"};

/// `7b`, `8x7b`, `a3b`, `7b1`, `llama7b`.
bool is_sized(std::string_view word) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    const bool unit = word[i] == 'b' || word[i] == 'm';
    const bool behind = std::isdigit(static_cast<unsigned char>(word[i - 1])) != 0;
    const bool ends =
        i + 1 == word.size() || std::isdigit(static_cast<unsigned char>(word[i + 1])) != 0;
    if (unit && behind && ends) return true;
  }
  return false;
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
    std::string word = lower_case(std::string(name.substr(0, end)));
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

/// Model files by their names and those of the table, bare; files before the table.
using Known = std::map<std::string, std::string, std::less<>>;
Known known_names(const std::vector<std::string>& files, const Document& names) {
  Known known;
  for (const std::string& file : files) known.emplace(bare(file, true), file);
  const Cursor root = names.root();
  expect_schema(root, "prequel/model-names/1");
  for (const Cursor& one : root.at("models").items()) {
    for (const Cursor& name : one.at("names").items()) {
      known.emplace(bare(name.text(), true), one.at("model").text());
    }
  }
  return known;
}

/// Small letters and digits, with the dots of numbers: `llama2`, `7b` and `nemo` of
/// `Llama2-7b.nemo`.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool dot = c == '.' && i > 0 && i + 1 < text.size() &&
                     std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
                     std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (std::isalnum(c) != 0 || dot) {
      words.back() += static_cast<char>(std::tolower(c));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string joined(const std::vector<std::string>& words, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += (text.empty() ? "" : "-") + words[i];
  return text;
}

bool is_other_kind(const std::string& word) {
  return std::ranges::find(kOtherKinds, word) != std::end(kOtherKinds);
}

/// The longest run of words, one of them a size, that is a name.
std::optional<ModelWithin> name_of_words(std::string_view text, const Known& known) {
  constexpr std::size_t kMostWords = 7;  // of a name
  const std::vector<std::string> words = words_of(text);
  for (std::size_t length = std::min(kMostWords, words.size()); length > 0; --length) {
    for (std::size_t begin = 0; begin + length <= words.size(); ++begin) {
      const auto first = words.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = first + static_cast<std::ptrdiff_t>(length);
      if (std::none_of(first, last, is_sized)) continue;
      if (std::any_of(words.begin(), first, is_other_kind)) continue;
      if (std::any_of(last, words.end(), is_other_kind)) continue;
      const std::string name = joined(words, begin, begin + length);
      for (const bool versions : {true, false}) {
        const auto found = known.find(bare(name, versions));
        if (found != known.end()) return ModelWithin{found->second, 0, name};
      }
    }
  }
  return std::nullopt;
}

/// A part of a path that is a name as a whole, but for what ends a file's.
std::optional<ModelWithin> name_of_part(std::string_view text, const Known& known) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("/ ,:="), text.size());
    std::string_view part = text.substr(0, end);
    for (const std::string_view ending : {".py", ".toml", ".sh"}) {
      if (part.ends_with(ending)) part.remove_suffix(ending.size());
    }
    const auto found = known.find(bare(part, true));
    if (!part.empty() && found != known.end() && !found->first.empty()) {
      return ModelWithin{found->second, 0, std::string(part)};
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace

bool says_size(std::string_view text) {
  return std::ranges::any_of(words_of(text), is_sized);
}

std::optional<ModelWithin> model_within(const std::vector<ModelClue>& clues,
                                        const std::vector<std::string>& files,
                                        const Document& names) {
  constexpr std::size_t kMostText = 1u << 16;  // of all clues
  const Known known = known_names(files, names);
  std::size_t spent = 0;
  for (std::size_t i = 0; i < clues.size(); ++i) {
    spent += clues[i].text.size();
    if (spent > kMostText) return std::nullopt;
    auto found = name_of_words(clues[i].text, known);
    if (!found && clues[i].names_models) found = name_of_part(clues[i].text, known);
    if (!found) continue;
    found->clue = i;
    return found;
  }
  return std::nullopt;
}

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
