#pragma once

#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "cli/text/tell.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// Options of `prequel show`.
struct ShowOptions {
  std::string kind;  ///< models, devices, clusters, software, jobs (or the singular)
  std::string name;  ///< empty: list the kind
  OutputFormat format{};
};

/// "models", "devices", …: what `prequel show` lists.
std::vector<std::string> shown_kinds();

/// "model" and "models" are the same kind. Throws InputError for others.
std::string plural_kind(const std::string& word);

/// The file that is asked for; of a model's also what a Hugging Face config stands for, and `tell`
/// hears what was made of it. Throws InputError.
Document shown_file(const Library& library, const ShowOptions& options, const Tell& tell);

/// Returns the models that are known, those of this year first: name, parameters, year, and other
/// names of the same shape, a line each.
std::string models_text(const Library& library);

/// The file of that name as it is, or else the names of a kind, or of all kinds, as an object of
/// lists. Throws InputError.
std::string show_json(const Library& library, const ShowOptions& options, const Tell& tell);

/// A constant of a stack that was chosen on measured runs.
struct ChosenConstant {
  std::string software, path;
  std::string on;  ///< as its file says in `chosen_on`: rows, plans, cells, gain left out, as JSON
};

/// How many keys the shipped stacks' constants have, which of them were chosen on runs, and the
/// tables of runs that there are.
struct ShownConstants {
  std::size_t keys{};
  std::vector<ChosenConstant> chosen;
  std::vector<std::string> tables;
};
ShownConstants shown_constants(const Library& library);
std::string constants_text(const ShownConstants& constants);
std::string constants_json(const ShownConstants& constants);

}  // namespace prequel
