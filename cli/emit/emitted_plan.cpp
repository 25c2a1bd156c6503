#include "cli/emit/emitted_plan.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/job/name_files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/axes/axis_text.hpp"
#include "models/job/library.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layout.hpp"
#include "models/plan/overlap.hpp"
#include "models/plan/router_balance.hpp"
#include "models/plan/stage_content.hpp"
#include "models/shape/layer_pattern.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWhole = 1u << 20;  // bytes of a value

/// Notes each word of a set: `plan.overlap.tp`, and `plan.overlap.any` if there is one.
template <Worded Enum>
void note_words(const std::string& axis, const WordSet<Enum>& words, Facts& facts) {
  if (!words.empty()) facts.set_flag(axis + ".any");
  for (const Enum word : all_of<Enum>()) {
    if (words.has(word)) facts.set_flag(fmt::format("{}.{}", axis, name(word)));
  }
}
void note_words(const std::string& /*axis*/, const auto& /*value*/, Facts& /*facts*/) {}

/// Notes the model by the keys of its file: `shape.hidden_size`. Switches that are off are not
/// said.
void note_model(const Transformer& model, Facts& facts) {
  const auto note = [&](const char* key, const auto& value) {
    const std::string name = fmt::format("shape.{}", key);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
      if (value) facts.set_flag(name);
    } else {
      facts.set(name, cell_of(value));
    }
  };
  each_model_field(model, note);
  note("mamba_num_heads", model.state_space.heads);
  note("mamba_head_dim", model.state_space.head_dim);
  note("mamba_d_state", model.state_space.state);
  note("mamba_n_groups", model.state_space.groups);
  note("linear_num_key_heads", model.linear_attention.key_heads);
  note("linear_num_value_heads", model.linear_attention.value_heads);
  note("linear_key_head_dim", model.linear_attention.key_dim);
  note("linear_value_head_dim", model.linear_attention.value_dim);
  note("index_n_heads", model.indexer.heads);
  note("index_head_dim", model.indexer.head_dim);
  note("index_topk", model.indexer.top_k);
  note("attn_output_gate", model.output_gate);
  note("mtp_use_repeated_layer", model.repeats_next_token);
  note("hc_mult", model.streams);
  note("moe_latent_size", model.experts.latent);
  note("num_hash_layers", model.experts.hash_layers);
  note("num_zero_experts", model.experts.zero);
  note("moe_shortcut", model.experts.shortcut);
}

/// Returns Megatron's word for layers of sparse attention alone, or for delta nets up to the last
/// of every so many; nothing for any other list of mixers.
std::string attention_variant(const Transformer& model) {
  const std::int64_t all = std::ssize(model.mixers);
  const auto are = [&](std::int64_t count, Mixer mixer) {
    return all > 0 && std::ranges::count(model.mixers, mixer, &LayerKind::mixer) == count;
  };
  if (are(all, Mixer::sparse)) return "dsa";
  const bool ends_full = all > 1 && model.mixers.back().mixer == Mixer::attention &&
                         model.mixers.back().span == AttentionSpan::full;
  return ends_full && are(all - 1, Mixer::delta_net)
             ? fmt::format("gdn --linear-attention-freq {}", all)
             : std::string();
}

/// Returns the letters of all sublayers with a bar behind each chunk of a pipeline, and those of
/// multi-token prediction behind slashes; nothing for a model without a pattern.
std::string letters_of(const Scenario& scenario) {
  const Transformer& model = scenario.model;
  const std::string letters = pattern_letters(model.pattern);
  if (letters.empty()) return letters;
  std::string dealt;
  std::size_t at = 0;
  for (const StageContent& chunk : chunks_of_plan(model, scenario.plan, scenario.software)) {
    if (!dealt.empty()) dealt += '|';
    const auto layers = static_cast<std::size_t>(chunk.blocks);
    dealt += letters.substr(at, layers);
    at += layers;
  }
  for (std::int64_t depth = 0; depth < model.next_token_layers; ++depth) {
    dealt += "/" + pattern_letters(model.next_token_pattern);
  }
  return dealt;
}

/// Tests whether tokens travel in another format than Megatron's dispatchers carry. A stack that
/// casts them by itself does so for narrow products alone.
bool casts_tokens(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const auto& casts = scenario.software.defaults.dispatch_precision;
  const bool by_stack =
      is_quantized(plan.precision) && casts && exchanges_tokens(plan, scenario.model);
  return plan.dispatch_precision != (by_stack ? *casts : activation_precision(plan));
}

/// Notes what rules ask of the plan, the model and the stack.
Facts facts_of(const Scenario& scenario) {
  const Transformer& model = scenario.model;
  const Plan& plan = scenario.plan;
  const Software& software = scenario.software;
  Facts facts;
  each_axis([&](const auto& axis) {
    facts.set(fmt::format("plan.{}", axis.name), fact_text(axis.of(plan)));
    note_words(fmt::format("plan.{}", axis.name), axis.of(plan), facts);
  });
  note_model(model, facts);
  const bool deepspeed = software.framework == "megatron-deepspeed";
  // Layers that Megatron-LM would not deal as the stack does.
  const bool dealt = !deepspeed && model.pattern.empty() && plan.pp > 1 && plan.layout.empty() &&
                     plan.stage_split == StageSplit::blocks &&
                     model.layers % (plan.pp * plan.vpp) != 0;
  const auto capacity = capacity_factor(plan.router_balance);
  facts.set("stack", software.name);
  facts.set("framework", software.framework);
  facts.set("letters", letters_of(scenario));
  facts.set("attention_variant", attention_variant(model));
  facts.set("dealt", dealt ? layout_of(chunks_of_plan(model, plan, software)) : std::string());
  facts.set("capacity_factor", capacity ? fmt::format("{}", *capacity) : std::string());
  facts.set_number("devices_per_node", plan.gpus / plan.nodes);
  facts.set_number("micro_batches", plan.micro_batches());
  facts.set_number("optimizer_instances", shard_groups(plan, GroupAxis::data).copies.size);
  const std::pair<const char*, bool> flags[] = {
      {"deepspeed", deepspeed},
      {"blocking", software.host.launch == Launch::blocking},
      {"has_mixers", !model.mixers.empty() || !model.pattern.empty()},
      {"routed", model.has_experts() && !deepspeed},
      {"grouped_products", software.kernels.grouped_products},
      {"exchanges_tokens", exchanges_tokens(plan, model)},
      {"casts_tokens", casts_tokens(scenario)},
      {"narrow_tokens", is_quantized(plan.dispatch_precision)},
      {"narrow", is_quantized(plan.precision)},
      {"reduces_beside", reduces_beside(plan, software)},
      {"gathers_beside", gathers_beside(plan, software)},
      {"gathers_each_pass", gathers_of(plan, software) == Gathers::each_pass},
      {"compiles_blocks", plan.compile || !software.kernels.may_be_eager()}};
  for (const auto& [name, is] : flags) {
    if (is) facts.set_flag(name);
  }
  return facts;
}

/// Follows the rules of one file. The lines of a JSON file are paths and values.
void follow(const Library& library, const std::string& target, Facts& facts, EmittedPlan& emitted) {
  const Document file = library.open("emit", target);
  const Cursor root = file.root();
  expect_schema(root, "prequel/emit/1");
  (void)root.find("origin");
  if (const auto first = root.find("begins_with")) follow(library, first->text(), facts, emitted);
  const auto text_at = [&](const char* key) {
    const auto found = root.find(key);
    return found ? found->text() : std::string();
  };
  const std::string before = text_at("before_lines");
  const std::string after = text_at("after_lines");
  const auto is_json = root.find("is_json");
  const std::vector<Rule> rules = read_list_of_rules(root.at("rules"));
  file.finish();
  Json json;
  for (const Rule& rule : rules) {
    if (!applies(rule, facts)) continue;
    take_effect(rule.set, facts);
    std::string text = filled(rule.told, facts, kWhole);
    if (text.empty()) continue;
    if (rule.line == Line::left_out) {
      const std::size_t colon = text.find(": ");
      emitted.left_out.push_back({text.substr(0, colon), text.substr(colon + 2)});
    } else if (is_json) {
      const std::size_t blank = text.find(' ');
      std::replace(text.begin(), text.begin() + std::ptrdiff_t(blank), '.', '/');
      json[Json::json_pointer("/" + text.substr(0, blank))] = Json::parse(text.substr(blank));
    } else {
      emitted.text += rule.line == Line::line ? before + text + after : text;
    }
  }
  if (is_json) emitted.text += json.dump(2) + "\n";
}

}  // namespace

EmittedPlan emit_plan(std::string_view target, const Scenario& scenario, const Library& library) {
  Facts facts = facts_of(scenario);
  EmittedPlan emitted;
  follow(library, std::string(target), facts, emitted);
  return emitted;
}

}  // namespace prequel
