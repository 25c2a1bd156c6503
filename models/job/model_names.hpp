#pragma once

/// Names that people give to models.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

class Document;

/// Which of the model files a name means, `meta-llama/Llama-3.1-8B-Instruct` or
/// `llama3_8b_pretrain_config`: the one of that name; else the first of the same letters and
/// digits, but for who publishes it, what was trained on top and what a recipe is for; else what
/// `names` (a `prequel/model-names/1` document) says has the same shape. Nothing where none does.
std::optional<std::string> model_called(const std::string& name,
                                        const std::vector<std::string>& files,
                                        const Document& names);

/// A text that may have a model's name in it: a path, the name of a program or of a file.
struct ModelClue {
  std::string text;
  /// True where a name without a size counts, `tinyllama`, if it is all of a part of a path; else
  /// only names with a size among their words do, `ckpts/llama2-7b-tp4`.
  bool names_models{};
};
/// The model file that a name within a clue means, that clue, and the words of it that are the
/// name.
struct ModelWithin {
  std::string file;
  std::size_t clue{};
  std::string words;
};
/// Tests whether a word of a text is a size, perhaps behind a family: `7b`, `8x7b`, `a3b`,
/// `llama7b`.
bool says_size(std::string_view text);
/// The longest name within the first clue that has one, as `model_called` compares names.
std::optional<ModelWithin> model_within(const std::vector<ModelClue>& clues,
                                        const std::vector<std::string>& files,
                                        const Document& names);

}  // namespace prequel
