#pragma once

/// What other programs call what prequel reads by one name: data/import/names.json.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace prequel {

class Document;
struct ImportedJob;

/// What a number is of.
struct NumberField {
  std::string_view word;  ///< in the file of names
  std::optional<std::int64_t>& (*of)(ImportedJob& job);
  const char* what;  ///< for messages
};
/// By its word; null if there is none.
const NumberField* number_field(std::string_view word);

struct ForeignNames {
  using Names = std::map<std::string, std::string, std::less<>>;
  using Numbers = std::map<std::string, const NumberField*, std::less<>>;

  Names flags;            ///< of programs, with dashes, and the flag that says the same
  Names keys;             ///< of configurations, perhaps behind their section, and that flag
  Names keys_off;         ///< and the flag that says the same where such a key is false
  Numbers numbers;        ///< names, whole, that are not known and tell what a number is of
  Numbers shape_numbers;  ///< of a model's shape, where they may stand behind other words

  /// What a number is of by a name that is one of these or ends in one; null if it does not.
  [[nodiscard]] const NumberField* shape_number(std::string_view name) const;
  /// Whether a number is of the layers' shape, which known flags say whole or not at all.
  [[nodiscard]] static bool is_of_layers(const NumberField& field);
};

/// The value of a table for a key of a configuration with the sections before it; the longest name
/// counts. Null if none is there.
const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path);

/// Reads a `prequel/foreign-names/1` file. Throws InputError with every problem of the file.
ForeignNames read_foreign_names(const Document& file);

}  // namespace prequel
