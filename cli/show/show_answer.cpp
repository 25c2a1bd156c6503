#include "cli/show/show_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/import/foreign_file.hpp"
#include "cli/json/json.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/schema.hpp"
#include "hw/base/text.hpp"
#include "models/layers/parameters.hpp"
#include "models/shape/transformer.hpp"

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
  const auto constant_json = [](const ChosenConstant& one) {
    return Json{{"software", one.software}, {"path", one.path}, {"chosen_on", Json::parse(one.on)}};
  };
  return document_text({{"keys", constants.keys},
                        {"chosen", constants.chosen.size()},
                        {"tables", constants.tables},
                        {"constants", list_json(constants.chosen, constant_json)}});
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

namespace {

/// One shape of a model, under the names that it has.
struct ListedModel {
  std::string name;
  std::vector<std::string> others;  ///< the same shape by other names
  std::int64_t parameters{}, active{};
  std::int64_t year{};  ///< 0: not known
};

/// The years of releases, by how names begin: data/names/years.json.
std::map<std::string, std::int64_t> years_of_names(const Library& library) {
  const Document file = library.open("names", "years");
  const Cursor root = file.root();
  expect_schema(root, "prequel/model-years/1");
  (void)root.find("origin");
  std::map<std::string, std::int64_t> years;
  for (const Cursor& group : root.at("years").items()) {
    const std::int64_t year = group.at("year").integer(1900, 2100);
    for (const Cursor& name : group.at("names").items()) years[name.text()] = year;
  }
  file.finish();
  return years;
}

std::int64_t year_of(const std::string& name, const std::map<std::string, std::int64_t>& years) {
  std::size_t longest = 0;
  std::int64_t found = 0;
  for (const auto& [begin, year] : years) {
    if (begin.size() < longest || !name.starts_with(begin)) continue;
    longest = begin.size();
    found = year;
  }
  return found;
}

std::string billions(std::int64_t parameters) {
  const double value = static_cast<double>(parameters) / 1e9;
  return value >= 100 ? fmt::format("{:.0f} B", value) : fmt::format("{:.3g} B", value);
}

}  // namespace

std::string models_text(const Library& library) {
  const std::map<std::string, std::int64_t> years = years_of_names(library);
  std::map<std::string, ListedModel> by_shape;  // the file without its name and origin
  for (const std::string& name : library.names("models")) {
    const Document file = library.open("models", name);
    nlohmann::json shape = file.json();
    for (const char* key : {"name", "origin", "schema"}) shape.erase(key);
    ListedModel& model = by_shape[shape.dump()];
    if (!model.name.empty()) {
      model.others.push_back(name);
      continue;
    }
    const Transformer transformer = read_transformer(file);
    model = {name,
             {},
             total_parameters(transformer),
             active_parameters(transformer),
             year_of(name, years)};
  }
  std::vector<ListedModel> models;
  for (auto& [shape, model] : by_shape) models.push_back(std::move(model));
  std::ranges::sort(models, [](const ListedModel& one, const ListedModel& other) {
    return std::tuple(-one.year, one.name) < std::tuple(-other.year, other.name);
  });
  std::string text;
  for (const ListedModel& model : models) {
    std::string size = billions(model.parameters);
    if (model.active != model.parameters && model.active < model.parameters * 9 / 10) {
      size += ", " + billions(model.active) + " active";
    }
    const std::string year = model.year > 0 ? fmt::format("{}", model.year) : std::string();
    const std::string also =
        model.others.empty() ? "" : fmt::format("  also {}", fmt::join(model.others, ", "));
    std::string line = fmt::format("{:<24} {:<24} {:<4}{}", model.name, size, year, also);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string show_json(const Library& library, const ShowOptions& options, const Tell& tell) {
  if (options.kind == "constants") return constants_json(shown_constants(library));
  if (!options.name.empty()) return shown_file(library, options, tell).json().dump(2) + "\n";
  Json names;
  for (const std::string& kind : shown_kinds()) {
    if (options.kind.empty() || kind == plural_kind(options.kind)) {
      names[kind] = library.names(kind);
    }
  }
  return document_text(names);
}

void add_show(CLI::App& app, ShowOptions& options, const Action& action) {
  CLI::App& command =
      *app.add_subcommand("show", "Lists and prints models, devices, clusters, software and jobs");
  command.footer(
      "  prequel show models\n"
      "  prequel show constants\n"
      "  prequel show device a100-sxm-80gb\n");
  command.add_option("kind", options.kind, "what to list")
      ->type_name("models|devices|clusters|software|jobs|constants");
  command.add_option("name", options.name, "print this one, with the origin of each number");
  add_format(command, options.format, false);
  command.callback(action);
}

}  // namespace prequel
