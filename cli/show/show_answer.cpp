#include "cli/show/show_answer.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "cli/import/foreign_file.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {

std::vector<std::string> shown_kinds() {
  return {"models", "devices", "clusters", "software", "jobs"};
}

std::string plural_kind(const std::string& word) {
  const std::vector<std::string> kinds = shown_kinds();
  for (const std::string& kind : kinds) {
    if (word == kind || word + "s" == kind) return kind;
  }
  throw InputError("show " + printable(word) + ": unknown kind" + did_you_mean(word, kinds) +
                   "; models, devices, clusters, software and jobs are known");
}

Document shown_file(const Library& library, const ShowOptions& options, const Tell& tell) {
  const std::string kind = plural_kind(options.kind);
  if (kind == "models") {
    const auto given = library.document(options.name);
    if (const auto made =
            given ? translate_model_text(options.name, *given) : translate_model(options.name)) {
      tell(report_text(made->report));
      return Document::parse(options.name, made->json);
    }
  }
  return library.open(kind, options.name);
}

std::string show_json(const Library& library, const ShowOptions& options, const Tell& tell) {
  if (!options.name.empty()) return shown_file(library, options, tell).json().dump(2) + "\n";
  nlohmann::ordered_json names;
  for (const std::string& kind : shown_kinds()) {
    if (options.kind.empty() || kind == plural_kind(options.kind)) {
      names[kind] = library.names(kind);
    }
  }
  return names.dump(2) + "\n";
}

}  // namespace prequel
