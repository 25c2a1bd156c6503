#include "cli/import/job/number_fields.hpp"

#include <algorithm>
#include <iterator>

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

}  // namespace

const NumberField* number_field(std::string_view word) {
  const auto* const found = std::ranges::find(kFields, word, &NumberField::word);
  return found == std::end(kFields) ? nullptr : found;
}

bool is_of_layers(const NumberField& field) {
  constexpr std::string_view kOfLayers[] = {"num_hidden_layers", "hidden_size",
                                            "num_attention_heads", "num_key_value_heads",
                                            "intermediate_size"};
  return std::ranges::find(kOfLayers, field.word) != std::end(kOfLayers);
}

}  // namespace prequel
