#include "models/axes/adapter_targets.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace prequel {
namespace {

using enum AdapterTarget;
constexpr std::array<std::pair<std::string_view, AdapterTarget>, 32> kModules{
    {{"q_proj", q},
     {"k_proj", k},
     {"v_proj", v},
     {"o_proj", o},
     {"gate_proj", gate},
     {"up_proj", up},
     {"down_proj", down},
     {"c_attn", qkv},
     {"attn.c_proj", o},
     {"mlp.c_proj", down},
     {"w1", up},
     {"w2", gate},
     {"wqkv", qkv},
     {"query_key_value", qkv},
     {"qkv_proj", qkv},
     {"gate_up_proj", gate_up},
     {"dense", o},
     {"dense_h_to_4h", gate_up},
     {"dense_4h_to_h", down},
     {"linear_qkv", qkv},
     {"linear_proj", o},
     {"linear_fc1", gate_up},
     {"linear_fc2", down},
     {"output_proj", o},
     {"attention_qkv", qkv},
     {"attention_dense", o},
     {"mlp_fc1", gate_up},
     {"mlp_fc2", down},
     {"embed_tokens", embedding},
     {"lm_head", head},
     {"all-linear", all},
     {"all_linear", all}}};

}  // namespace

WordSet<AdapterTarget> named_targets(const std::string& text) {
  std::string plain = text;
  std::ranges::replace_if(
      plain,
      [](char c) { return std::string_view(",()[]\"'+|").find(c) != std::string_view::npos; }, ' ');
  WordSet<AdapterTarget> modules;
  WordSet<AdapterTarget> groups;
  std::istringstream in(plain);
  for (std::string word; in >> word && word != "or";) {
    const auto named_so = [](std::string_view name) {
      return std::ranges::find_if(kModules, [&](const auto& each) { return each.first == name; });
    };
    auto known = named_so(word);
    if (known == kModules.end()) {  // self_attn.q_proj; npos + 1 is 0
      known = named_so(std::string_view(word).substr(word.rfind('.') + 1));
    }
    const auto target =
        known != kModules.end() ? std::optional(known->second) : named<AdapterTarget>(word);
    if (target) (*target >= attention ? groups : modules).add(*target);
  }
  return modules.empty() ? groups : modules;
}

}  // namespace prequel
