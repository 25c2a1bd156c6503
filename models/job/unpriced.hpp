#pragma once

/// Names of flags, keys and columns that ask for another model or another way to train than prequel
/// prices: data/import/unpriced.json. Each is refused by name until it is priced and its row goes.

#include <string>
#include <string_view>
#include <vector>

namespace prequel {

class Document;

/// Who says a name.
enum class NameSource {
  flag,    ///< a launch script or a configuration of a program
  config,  ///< the configuration of a model, or a column of a table
  dump,    ///< the arguments that a program prints, those with their default values among them
};

/// One thing that is not priced, and the names that ask for it.
struct UnpricedRow {
  std::string what;                 ///< for messages
  std::vector<std::string> names;   ///< lower_case; `*` stands for any letters
  std::vector<std::string> unless;  ///< values that ask for nothing
  std::vector<std::string> only;    ///< if any: the values that ask for it; `*` as in names
  bool sizes{};                     ///< says nothing in a dump
  bool flags{};                     ///< only scripts and their settings mean it
};

/// Returns the row that a name with a value falls under, null if none does. The name may carry
/// dashes, capitals and the sections before it; the value of a switch is empty.
const UnpricedRow* asked_for(const std::vector<UnpricedRow>& rows, std::string_view name,
                             std::string_view value, NameSource source);

/// Returns whether a row has the name, whatever is said by it.
bool is_named(const std::vector<UnpricedRow>& rows, std::string_view name);

/// Returns the refusal's text behind the name: what it is, and why it is not left out.
std::string unpriced_text(const UnpricedRow& row);

/// Reads a `prequel/unpriced/1` file. Throws InputError with every problem of the file.
std::vector<UnpricedRow> read_unpriced(const Document& file);

}  // namespace prequel
