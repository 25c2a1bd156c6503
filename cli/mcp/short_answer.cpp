#include "cli/mcp/tools.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include <fmt/format.h>

#include "cli/json/json.hpp"

namespace prequel {
namespace {

/// Returns whether a plan's field says nothing: degree 1, nothing offloaded, no modules.
bool is_default(const Json& value) {
  if (value.is_null() || value.empty()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value == 0 || value == 1;
  return value.is_string() && (value == "none" || value == "");
}

Json short_plan(const Json& plan) {
  Json kept = Json::object();
  for (const auto& [axis, value] : plan.items()) {
    const bool always = axis == "nodes" || axis == "gpus" || axis == "dp" || axis == "tp" ||
                        axis == "pp" || axis == "mbs" || axis == "gbs";
    if (always || !is_default(value)) kept[axis] = value;
  }
  return kept;
}

/// Returns what of a plan is not as in another one.
Json differing(const Json& plan, const Json& from) {
  Json kept = Json::object();
  for (const auto& [axis, value] : plan.items()) {
    if (!from.contains(axis) || from[axis] != value) kept[axis] = value;
  }
  return kept;
}

/// Copies members that are there.
void copy(const Json& from, std::initializer_list<const char*> keys, Json& to) {
  for (const char* key : keys) {
    if (from.contains(key) && !from[key].is_null()) to[key] = from[key];
  }
}

Json without_zeros(const Json& parts) {
  Json kept = Json::object();
  for (const auto& [name, seconds] : parts.items()) {
    if (seconds.is_number() && std::abs(seconds.get<double>()) > 1e-9) kept[name] = seconds;
  }
  return kept;
}

Json short_memory(const Json& memory) {
  Json kept = Json::object();
  copy(memory, {"peak_gib", "capacity_gib", "verdict", "nearest"}, kept);
  return kept;
}

Json short_prediction(const Json& document) {
  Json kept = Json::object();
  copy(document,
       {"sec_per_iter", "error", "tokens_per_sec_per_gpu", "mfu", "hfu", "run", "what_if",
        "measured", "parameters", "model", "cluster", "software", "device", "kernels"},
       kept);
  kept["memory"] = short_memory(document.at("memory"));
  if (document.contains("interval")) {
    Json& interval = kept["interval"] = Json::object();
    copy(document["interval"], {"level", "sec_per_iter", "memory_gib", "fits_probability"},
         interval);
  }
  kept["breakdown_s"] = without_zeros(document.at("breakdown_s"));
  kept["plan"] = short_plan(document.at("plan"));
  kept["warnings"] = document.at("warnings");
  return kept;
}

Json short_search(const Json& document) {
  Json kept = Json::object();
  copy(document,
       {"considered", "legal", "fitting", "interrupted", "model", "cluster", "device", "software",
        "warnings", "within", "clusters", "explanations"},
       kept);
  if (document.contains("error")) {
    kept["error"] = {{"sec_per_iter", document["error"].at("sec_per_iter")}};
  }
  if (document.contains("recommendation")) {
    copy(document["recommendation"], {"text", "measure"}, kept["recommendation"] = Json::object());
  }
  if (document.contains("risky")) {
    copy(document["risky"], {"gain", "fits_probability"}, kept["risky"] = Json::object());
  }
  kept["plans"] = Json::array();
  Json first;
  for (const Json& plan : document.at("plans")) {
    Json row = Json::object();
    copy(plan,
         {"rank", "sec_per_iter", "tokens_per_sec_per_gpu", "mfu", "odds_best", "fits_probability",
          "days", "gpu_hours", "cost", "cluster"},
         row);
    row["peak_gib"] = plan.at("memory").at("peak_gib");
    const Json its = short_plan(plan.at("plan"));
    row["plan"] = first.is_null() ? its : differing(its, first);
    if (first.is_null()) first = its;
    kept["plans"].push_back(std::move(row));
  }
  for (const char* few : {"nearest_misses", "relaxations", "refused"}) {
    if (!document.contains(few) || document[few].empty()) continue;
    kept[few] = document[few];
    for (Json& one : kept[few]) {
      one.erase("model_shape");
      if (one.contains("plan") && one["plan"].is_object()) one["plan"] = short_plan(one["plan"]);
    }
    constexpr std::size_t kFew = 3;
    while (kept[few].size() > kFew) kept[few].erase(kept[few].size() - 1);
  }
  return kept;
}

/// Returns a document without what was asked and what it was read from.
Json without_context(Json document) {
  for (const char* key : {"schema", "context"}) document.erase(key);
  return document;
}

}  // namespace

Json in_four_digits(Json value) {
  if (value.is_number_float()) {
    return std::strtod(fmt::format("{:.4g}", value.get<double>()).c_str(), nullptr);
  }
  if (value.is_structured()) {
    for (Json& each : value) each = in_four_digits(std::move(each));
  }
  return value;
}

Json short_answer(const std::string& tool, const Json& document) {
  if (tool == "predict" || tool == "explain") return in_four_digits(short_prediction(document));
  if (tool == "search") return in_four_digits(short_search(document));
  if (tool == "compare") {
    Json kept = without_context(document);
    for (const char* side : {"a", "b"}) {
      if (!kept.contains(side) || !kept[side].is_object()) continue;
      kept[side].erase("plan");
      if (kept[side].contains("breakdown_s")) {
        kept[side]["breakdown_s"] = without_zeros(kept[side]["breakdown_s"]);
      }
    }
    return in_four_digits(std::move(kept));
  }
  return tool == "show" || tool == "import" ? document : in_four_digits(without_context(document));
}

}  // namespace prequel
