#include "cli/import/settings/telling_names.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

/// Parts of names that are of shapes, layouts or memory.
constexpr std::string_view kTelling[] = {"hidden_size",
                                         "hidden_dim",
                                         "hidden_width",
                                         "inner_",
                                         "ffn",
                                         "intermediate",
                                         "layer",
                                         "depth",
                                         "head",
                                         "_dim",
                                         "width",
                                         "kv_",
                                         "query_group",
                                         "expert",
                                         "moe_",
                                         "mlp_",
                                         "glu",
                                         "elu",
                                         "activation_f",
                                         "parallel_size",
                                         "parallel_degree",
                                         "max_len",
                                         "tp_size",
                                         "pp_size",
                                         "cp_size",
                                         "dp_size",
                                         "tp_deg",
                                         "pp_deg",
                                         "rmsnorm",
                                         "rms_norm",
                                         "recompute",
                                         "checkpoint_act",
                                         "gradient_checkpointing",
                                         "activation_checkpointing",
                                         "grad_checkpoint",
                                         "remat",
                                         "offload",
                                         "window",
                                         "precision",
                                         "fp8",
                                         "fp4",
                                         "zero_stage",
                                         "distributed_optim",
                                         "shard",
                                         "batch_size",
                                         "seq_len",
                                         "context_len",
                                         "attn_impl",
                                         "mamba",
                                         "ssm",
                                         "hybrid",
                                         "encoder",
                                         "vision",
                                         "quantiz",
                                         "vocab_size",
                                         "pipeline",
                                         "virtual",
                                         "freeze",
                                         "frozen",
                                         "teacher",
                                         "distill",
                                         "global_checkpoint",
                                         "sparse"};

/// And of names that have such a part and still change neither time nor memory to speak of.
constexpr std::string_view kHarmless[] = {
    "dropout",       "eps",       "init",       "loss",           "clip",     "softmax",
    "scaling",       "eval",      "logging",    "log_",           "save",     "path",
    "dir",           "file",      "dataset",    "rope",           "rotary",   "router",
    "grouped",       "permute",   "margin",     "interval",       "amax",     "persist",
    "fused",         "fusion",    "padding",    "pad_",           "val_",     "valid",
    "test_",         "inference", "divisible",  "jitter",         "capacity", "policy",
    "param_group",   "balanc",    "bias",       "to_tensorboard", "ramp",     "schedule",
    "sampler",       "kwargs",    "bucket",     "wrap",           "generat",  "liger",
    "precompute",    "debug",     "revision",   "dropless",       "mlp_impl", "affine",
    "linear_offset", "layernorm", "layer_norm", "header",         "headless", "overhead",
    "layerdrop"};

}  // namespace

std::string own_name(std::string_view entry) {
  entry = entry.substr(0, entry.find_first_of(" ="));
  if (entry.starts_with("--")) entry.remove_prefix(2);
  entry = entry.substr(entry.rfind('.') + 1);  // npos + 1 is 0
  std::string name = lower_case(std::string(entry));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool has_part(std::string_view name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

void tell_by_names(std::size_t first, ImportReport& report) {
  std::vector<std::string> others;
  for (std::size_t i = first; i < report.ignored.size(); ++i) {
    const std::string name = own_name(report.ignored[i]);
    const bool resolved = report.ignored[i].find("(not resolved)") == std::string::npos;
    if (resolved && has_part(name, kTelling) && !has_part(name, kHarmless)) {
      report.left_out.push_back(fmt::format(
          "{}: not known, though it may be of the model, its layout or its memory; predicted "
          "without it",
          report.ignored[i]));
    } else {
      others.push_back(std::move(report.ignored[i]));
    }
  }
  report.ignored.resize(std::min(first, report.ignored.size()));
  report.ignored.insert(report.ignored.end(), std::make_move_iterator(others.begin()),
                        std::make_move_iterator(others.end()));
}

}  // namespace prequel
