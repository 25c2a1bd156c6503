#pragma once

/// Names of other programs for what prequel reads by one name: data/import/names.json.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/unpriced.hpp"

namespace prequel {

class Document;

/// Meanings of the numbers that names alone tell (cli/import/number_fields.hpp).
inline constexpr std::string_view kNumberWords[] = {"mbs",
                                                    "gbs",
                                                    "batch_size",
                                                    "batch_tokens",
                                                    "gradient_accumulation_steps",
                                                    "seq_len",
                                                    "dp",
                                                    "tp",
                                                    "pp",
                                                    "cp",
                                                    "ep",
                                                    "zero",
                                                    "nodes",
                                                    "devices",
                                                    "devices_per_node",
                                                    "num_hidden_layers",
                                                    "hidden_size",
                                                    "num_attention_heads",
                                                    "num_key_value_heads",
                                                    "intermediate_size",
                                                    "vocab_size"};

struct ForeignNames {
  using Names = std::map<std::string, std::string, std::less<>>;

  Names flags;          ///< of programs, with dashes, and the flag that says the same
  Names keys;           ///< of configurations, perhaps behind their section, and that flag
  Names keys_off;       ///< and the flag that says the same where such a key is false
  Names numbers;        ///< names, whole, that are not known and tell what a number is of
  Names shape_numbers;  ///< of a model's shape, where they may stand behind other words
  std::vector<UnpricedRow> unpriced;  ///< names that are refused: data/import/unpriced.json

  /// Returns the meaning of a number whose name is one of these or ends in one; null if it is not.
  [[nodiscard]] const std::string* shape_number(std::string_view name) const;
};

/// The value of a table for a key of a configuration with the sections before it; the longest name
/// counts. Null if none is there.
const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path);

/// Reads a `prequel/foreign-names/1` file. Throws InputError with every problem of the file.
ForeignNames read_foreign_names(const Document& file);

}  // namespace prequel
