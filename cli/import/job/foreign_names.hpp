#pragma once

/// Names of other programs for what prequel reads: the files in data/import/.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job/unpriced.hpp"

namespace prequel {

/// One setting of a field: `plan.zero?=3`.
struct Assignment {
  enum class How : std::uint8_t {
    set,       ///< `=`
    if_open,   ///< `?=`: where nothing says it yet
    at_least,  ///< `>=`: where a lower number is said, or none
    add,       ///< `+=`: to a list
  };
  std::string field;  ///< job/job_fields.hpp
  How how{};
  std::string value;
};

/// The settings that a flag makes, in their order.
using Effect = std::vector<Assignment>;

/// A line of the report; the last two are of a plan that is written.
enum class Line : std::uint8_t { assumed, left_out, read, ignored, refused, line, text };

/// Settings that follow from what a job says: all conditions of `when` hold and none of `unless`.
struct Rule {
  std::vector<std::string> when, unless;  ///< job/job_rules.hpp
  Effect set;
  Line line{};
  std::string told;  ///< no line where empty
};

/// A program that trains, as far as other tables need it.
struct Framework {
  std::string framework;                       ///< of the stacks that run it
  std::string stack;                           ///< of a job that names none
  std::string old_stack, adapter_stack;        ///< of its first releases, and for adapters
  std::vector<std::string> commands, flags;    ///< of it alone
  std::vector<std::vector<std::string>> keys;  ///< of its configurations alone: all of one list
  std::string model_key;                       ///< of them, the one that names the model
  std::vector<Rule> defaults;
};

/// Words of names, and what the number is of that has all of them.
struct NumberRule {
  std::vector<std::string> parts;
  std::string field;
};

struct Tokenizer {
  std::string name;                ///< for people: "Llama 3"
  std::vector<std::string> names;  ///< parts of what files call it, in lower case: "llama-3"
  std::int64_t vocab{};            ///< rows that its models' embeddings have
  std::int64_t words{};  ///< of its own, to which scripts may add: as many rows, if unsaid
};

/// Types of a family's layers, or letters of their sublayers: a layer has the first whose condition
/// holds.
struct LayerTypes {
  struct Type {
    std::string type;
    std::string when;  ///< job/job_rules.hpp; any layer's where empty
  };
  std::string list;  ///< of the configuration, whose entries conditions ask for; may be empty
  std::vector<Type> types;
  bool letters{};  ///< whether `types` are letters
  bool depths{};   ///< whether the list goes on with multi-token prediction
};

struct ForeignNames {
  /// Returns those of a job that no data file was read for.
  static const std::shared_ptr<const ForeignNames>& none();

  using Names = std::map<std::string, std::string, std::less<>>;
  using Effects = std::map<std::string, Effect, std::less<>>;
  using Words = std::vector<std::string>;

  std::map<std::string, Framework, std::less<>> frameworks;  ///< by the names of their files

  // Flags with dashes.
  Names same_flags;    ///< the flag that says the same
  Names number_flags;  ///< the field of a whole number
  Names device_flags;  ///< the field of a count of devices: `8`, `a100:8`, `gpu:a100:8`
  Effects switches;    ///< effects of flags that stand alone
  std::map<std::string, Effects, std::less<>> words;  ///< effects of a flag by the word behind it
  Names lists;         ///< the reader, or the field, of a list of words
  Names readers;       ///< the reader of a value: `value_rules`, or settings/megatron_arguments.cpp
  Names not_modelled;  ///< of what changes time or memory: the value that does not

  // Keys of configurations, perhaps behind their section.
  Names keys;      ///< the flag that says the same
  Names keys_off;  ///< and the flag that says the same where such a key is false

  // Models by other programs' names.
  Names flavours;  ///< of torchtitan
  Names families;  ///< of Hugging Face: configs/hugging_face_config.cpp
  std::map<std::string, std::vector<LayerTypes>, std::less<>> layers;  ///< of their mixers
  Names same_families;     ///< other names of families, or of the language model in one
  Names refused_families;  ///< what they have that is not priced
  /// Fields of a model, and configurations' keys for them: sizes, those of latent attention, and
  /// all others.
  std::map<std::string, Words, std::less<>> size_keys, model_keys, latent_keys;
  std::map<std::string, Words, std::less<>> mixer_keys;  ///< keys of model files and theirs for it

  /// Parts of programs' paths, and what these do: train no decoder; train nothing; and of their own
  /// names, train on a second model.
  std::vector<std::pair<std::string, std::string>> no_decoders, no_training, several_models;

  // Names that nothing above has.
  Names numbers;                         ///< whole names, and the field of their number
  Names shape_numbers;                   ///< of a model's shape, perhaps behind other words
  std::vector<NumberRule> number_rules;  ///< the first that fits counts
  std::map<std::string, Words, std::less<>> lists_of_words;  ///< `words_of`
  std::vector<UnpricedRow> unpriced;  ///< names that are refused: data/import/unpriced.json
  Names clusters;                     ///< of runs that name none, by the type of device
  std::vector<Tokenizer> tokenizers;
  std::int64_t usual_vocab{};  ///< rows, where none is known
  using Rules = std::map<std::string, std::vector<Rule>, std::less<>>;
  Rules rules;        ///< data/import/rules.json, by the step that follows them
  Rules value_rules;  ///< of readers of values, by their names

  /// Returns the words of a list of data/import/names.json; none where it has no such list.
  [[nodiscard]] const Words& words_of(std::string_view list) const;
  /// Tests whether such a list has a word.
  [[nodiscard]] bool has_word(std::string_view list, std::string_view word) const;
  /// Returns the framework of that name; an empty one where no file has it.
  [[nodiscard]] const Framework& framework(std::string_view name) const;
  /// Returns the first tokenizer of which a part of its name is in `text`, in any case of letters;
  /// null if there is none.
  [[nodiscard]] const Tokenizer* tokenizer(std::string_view text) const;
  /// Returns the field of a number whose name is one of these or ends in one; null if it is not.
  [[nodiscard]] const std::string* shape_number(std::string_view name) const;
};

/// Returns the value of a name; null where the table has none.
template <class Map>
const typename Map::mapped_type* find_name(const Map& names, std::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

/// The value of a table for a key of a configuration with the sections before it; the longest name
/// counts. Null if none is there.
const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path);

}  // namespace prequel
