#include "cli/show/show_answer.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
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

std::string show_json(const Library& library, const ShowOptions& options) {
  if (!options.name.empty()) {
    return library.open(plural_kind(options.kind), options.name).json().dump(2) + "\n";
  }
  nlohmann::ordered_json names;
  for (const std::string& kind : shown_kinds()) {
    if (options.kind.empty() || kind == plural_kind(options.kind)) {
      names[kind] = library.names(kind);
    }
  }
  return names.dump(2) + "\n";
}

}  // namespace prequel
