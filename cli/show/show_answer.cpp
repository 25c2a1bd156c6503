#include "cli/show/show_answer.hpp"

#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/foreign_file.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Adds the paths of all constants of a stack's file; what is inside a list counts as the list.
void add_keys(const nlohmann::json& value, const std::string& path, std::set<std::string>& keys) {
  if (!value.is_object()) {
    keys.insert(path);
    return;
  }
  for (const auto& [key, member] : value.items()) {
    if (key == "origin" || key == "note") continue;
    add_keys(member, path + "." + key, keys);
  }
}

}  // namespace

ShownConstants shown_constants(const Library& library) {
  ShownConstants constants;
  std::set<std::string> keys;
  for (const std::string& name : library.names("software")) {
    const std::string file = library.directory() + "/software/" + name + ".json";
    const Document own = Document::read(file);
    if (!own.json().is_object()) continue;
    for (const char* section : {"kernels", "host", "communication", "memory"}) {
      if (own.json().contains(section)) add_keys(own.json()[section], section, keys);
    }
    if (!own.json().contains("chosen_on")) continue;
    for (const auto& [path, on] : own.json()["chosen_on"].items()) {
      constants.chosen.push_back({name, path, on.dump()});
    }
  }
  constants.keys = keys.size();
  const Document index = library.open("runs", "tables");
  for (const nlohmann::json& table : index.json().at("tables")) {
    constants.tables.push_back(table.at("name").get<std::string>());
  }
  return constants;
}

std::string constants_text(const ShownConstants& constants) {
  std::string text = fmt::format("{} keys of stacks are in use, {} constants were chosen on runs\n",
                                 constants.keys, constants.chosen.size());
  for (const ChosenConstant& one : constants.chosen) {
    text += fmt::format("  {:<28} {:<40} {}\n", one.software, one.path, one.on);
  }
  return text;
}

std::string constants_json(const ShownConstants& constants) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChosenConstant& one : constants.chosen) {
    list.push_back({{"software", one.software},
                    {"path", one.path},
                    {"chosen_on", nlohmann::ordered_json::parse(one.on)}});
  }
  return nlohmann::ordered_json{{"keys", constants.keys},
                                {"chosen", constants.chosen.size()},
                                {"tables", constants.tables},
                                {"constants", list}}
             .dump(2) +
         "\n";
}

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
  if (options.kind == "constants") return constants_json(shown_constants(library));
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
