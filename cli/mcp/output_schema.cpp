#include "cli/mcp/output_schema.hpp"

#include <map>

#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

/// Brings what the files of schemas refer to under one roof.
class Bundle {
 public:
  explicit Bundle(const Library& library) : library_(library) {}

  /// The file's schema; `$defs` holds all that it refers to.
  Json of(const std::string& kind) {
    Json whole = file(kind);
    const Json required = whole.value("required", Json::array());
    for (const char* key : {"$schema", "$comment", "$defs"}) whole.erase(key);
    Json result = gathered(whole, kind);
    result["required"] = required;
    if (!definitions_.empty()) result["$defs"] = definitions_;
    return result;
  }

 private:
  const Json& file(const std::string& kind) {
    const auto known = files_.find(kind);
    if (known != files_.end()) return known->second;
    return files_.emplace(kind, Json(library_.open("schema", kind).json())).first->second;
  }

  /// "FILE.json#/POINTER", or "#/POINTER" into the same file, as a name under `$defs`.
  std::string gathered_reference(const std::string& reference, const std::string& kind) {
    const std::size_t hash = reference.find('#');
    const std::string other = hash == 0 ? kind : reference.substr(0, reference.find(".json"));
    const std::string pointer = reference.substr(hash + 1);
    const std::string name = other + "." + pointer.substr(pointer.rfind('/') + 1);
    if (!definitions_.contains(name)) {
      definitions_[name] = Json::object();  // what refers to itself finds it
      Json definition = gathered(file(other).at(Json::json_pointer(pointer)), other);
      definitions_[name] = std::move(definition);
    }
    return "#/$defs/" + name;
  }

  Json gathered(const Json& schema, const std::string& kind) {
    if (schema.is_array()) {
      Json items = Json::array();
      for (const Json& item : schema) items.push_back(gathered(item, kind));
      return items;
    }
    if (!schema.is_object()) return schema;
    Json result = Json::object();
    for (const auto& [key, value] : schema.items()) {
      if (key == "required" && value.is_array()) continue;
      result[key] = key == "$ref" && value.is_string()
                        ? Json(gathered_reference(value.get<std::string>(), kind))
                        : gathered(value, kind);
    }
    return result;
  }

  const Library& library_;
  std::map<std::string, Json> files_;
  Json definitions_ = Json::object();
};

}  // namespace

Json short_form_schema(const std::string& kind, const Library& library) {
  return Bundle(library).of(kind);
}

}  // namespace prequel
