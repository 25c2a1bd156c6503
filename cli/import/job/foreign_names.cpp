#include "cli/import/job/foreign_names.hpp"

#include <algorithm>
#include <iterator>

#include "cli/import/job/imported_job.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

constexpr NumberField kFields[] = {
    {"mbs", [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {"gbs", [](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"},
    {"batch_size", [](ImportedJob& job) -> Count& { return job.batch_size; }, "batch_size"},
    {"batch_tokens", [](ImportedJob& job) -> Count& { return job.batch_tokens; },
     "tokens of a step"},
    {"gradient_accumulation_steps",
     [](ImportedJob& job) -> Count& { return job.gradient_accumulation_steps; },
     "accumulation steps"},
    {"seq_len", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }, "seq_len"},
    {"dp", [](ImportedJob& job) -> Count& { return job.plan.dp; }, "dp"},
    {"tp", [](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"},
    {"pp", [](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"},
    {"cp", [](ImportedJob& job) -> Count& { return job.plan.cp; }, "cp"},
    {"ep", [](ImportedJob& job) -> Count& { return job.plan.ep; }, "ep"},
    {"zero", [](ImportedJob& job) -> Count& { return job.plan.zero; }, "zero"},
    {"nodes", [](ImportedJob& job) -> Count& { return job.plan.nodes; }, "nodes"},
    {"devices", [](ImportedJob& job) -> Count& { return job.gpus; }, "devices"},
    {"devices_per_node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; },
     "devices of a node"},
    {"num_hidden_layers", [](ImportedJob& job) -> Count& { return job.model.layers; }, "layers"},
    {"hidden_size", [](ImportedJob& job) -> Count& { return job.model.hidden; }, "hidden size"},
    {"num_attention_heads", [](ImportedJob& job) -> Count& { return job.model.heads; }, "heads"},
    {"num_key_value_heads", [](ImportedJob& job) -> Count& { return job.model.kv_heads; },
     "heads of keys and values"},
    {"intermediate_size", [](ImportedJob& job) -> Count& { return job.model.ffn_hidden; },
     "width of the MLP"},
    {"vocab_size", [](ImportedJob& job) -> Count& { return job.model.vocab; }, "vocab_size"},
};

ForeignNames::Names read_names(const Cursor& object) {
  ForeignNames::Names names;
  for (const auto& [name, same] : object.members()) names.emplace(name, same.text());
  return names;
}

ForeignNames::Names read_groups(const Cursor& groups) {
  ForeignNames::Names names;
  for (const Cursor& group : groups.items()) {
    (void)group.at("of");
    names.merge(read_names(group.at("names")));
  }
  return names;
}

ForeignNames::Numbers read_numbers(const Cursor& fields) {
  ForeignNames::Numbers numbers;
  for (const auto& [word, names] : fields.members()) {
    const NumberField* field = number_field(word);
    if (field == nullptr) {
      names.problem("no number of a job is called so");
      continue;
    }
    for (const Cursor& name : names.items()) numbers.emplace(name.text(), field);
  }
  return numbers;
}

/// The value for the longest ending of `name` that begins behind one of these letters, or for all
/// of it; nothing if there is none.
template <class Map>
const typename Map::mapped_type* of_ending(const Map& map, std::string_view name, char between) {
  while (true) {
    if (const auto found = map.find(name); found != map.end()) return &found->second;
    const std::size_t next = name.find(between);
    if (next == std::string_view::npos) return nullptr;
    name.remove_prefix(next + 1);
  }
}

}  // namespace

const NumberField* number_field(std::string_view word) {
  const auto* const found = std::ranges::find(kFields, word, &NumberField::word);
  return found == std::end(kFields) ? nullptr : found;
}

const NumberField* ForeignNames::shape_number(std::string_view name) const {
  const NumberField* const* found = of_ending(shape_numbers, name, '_');
  return found == nullptr ? nullptr : *found;
}

bool ForeignNames::is_of_layers(const NumberField& field) {
  constexpr std::string_view kOfLayers[] = {"num_hidden_layers", "hidden_size",
                                            "num_attention_heads", "num_key_value_heads",
                                            "intermediate_size"};
  return std::ranges::find(kOfLayers, field.word) != std::end(kOfLayers);
}

const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path) {
  return of_ending(names, path, '.');
}

ForeignNames read_foreign_names(const Document& file) {
  const Cursor root = file.root();
  expect_schema(root, "prequel/foreign-names/1");
  (void)root.find("origin");
  ForeignNames names;
  names.flags = read_groups(root.at("flags"));
  names.keys = read_groups(root.at("keys"));
  names.keys_off = read_names(root.at("keys_off"));
  names.numbers = read_numbers(root.at("numbers"));
  names.shape_numbers = read_numbers(root.at("shape_numbers"));
  file.finish();
  return names;
}

}  // namespace prequel
