#include <algorithm>
#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/axes/axis_text.hpp"
#include "models/stack/software.hpp"

namespace prequel {
namespace {

Seconds time(const Cursor& section, std::string_view key) {
  return {section.at(key).number(kNonNegative)};
}

double factor_or(const Cursor& section, std::string_view key, double fallback) {
  const auto found = section.find(key);
  return found ? found->number(kNonNegative) : fallback;
}

/// Keys of a plan that every stack must state.
constexpr std::string_view kAlwaysSaid[] = {
    "zero", "recompute", "precision", "attention", "offload", "sequence_parallel", "schedule"};

PlanRequest read_defaults(const Cursor& section) {
  PlanRequest defaults;
  for (const std::string_view key : kAlwaysSaid) {
    const Cursor said = section.at(key);
    if (section.is_object() && section.json().contains(std::string(key)) && !section.find(key)) {
      said.problem("expected a value, got null");
    }
  }
  each_axis([&](const auto& axis) {
    if (!has_default(axis.use)) return;
    if (const auto found = section.find(axis.name)) {
      axis.of(defaults) = read_value(*found, axis.domain);
    }
  });
  return defaults;
}

AxisValues<std::vector> read_choices(const Cursor& section) {
  AxisValues<std::vector> choices;
  each_axis([&](const auto& axis) {
    if (!axis.has_choices()) return;
    const auto found = section.find(axis.name);
    if (!found) return;
    for (const Cursor& item : found->items()) {
      axis.of(choices).push_back(read_value(item, axis.domain));
    }
  });
  return choices;
}

std::optional<double> read_score_traffic(const Cursor& kernels, std::string_view attention) {
  const auto all = kernels.find("score_traffic");
  const auto found = all ? all->find(attention) : std::nullopt;
  if (!found) return std::nullopt;
  return found->number(kNonNegative);
}

/// Reads `count` numbers under `cursor`, of which `meant` names each.
std::vector<double> read_numbers(const Cursor& cursor, std::size_t count, std::string_view meant) {
  std::vector<double> numbers;
  for (const Cursor& item : cursor.items()) numbers.push_back(item.number(kNonNegative));
  if (numbers.size() != count) cursor.problem("expected [" + std::string(meant) + "]");
  numbers.resize(count);
  return numbers;
}

/// Reads a number, or [compiled, eager].
CompiledOrEager read_compiled_or_eager(const Cursor& cursor) {
  if (!cursor.json().is_array()) return {cursor.number(kNonNegative), {}};
  const auto both = read_numbers(cursor, 2, "compiled, eager");
  return {both[0], both[1]};
}

KernelStack read_kernels(const Cursor& section) {
  KernelStack kernels;
  kernels.gemm_time_factor = section.at("gemm_time_factor").number(kPositive);
  if (const auto formats = section.find("format_time_factors")) {
    constexpr auto& kWords = kWordsOf<Precision>;
    for (std::size_t i = 0; i < std::size(kWords); ++i) {
      if (const auto found = formats->find(kWords[i])) {
        kernels.format_time_factors[i] = found->number(kPositive);
      }
    }
  }
  kernels.pointwise_traffic_factor = read_compiled_or_eager(section.at("pointwise_traffic_factor"));
  kernels.cross_entropy_bytes = read_compiled_or_eager(section.at("cross_entropy_bytes"));
  kernels.optimizer_traffic_bytes = section.at("optimizer_traffic_bytes").number(kNonNegative);
  if (const auto found = section.find("transformer_engine")) {
    kernels.transformer_engine = found->boolean();
  }
  if (const auto stops = section.find("recompute_stops_early")) {
    kernels.recompute_stops_early = stops->boolean();
  }
  kernels.unfused = read_score_traffic(section, "unfused");
  kernels.fused_softmax = read_score_traffic(section, "fused-softmax");
  if (const auto grouped = section.find("grouped_products")) {
    kernels.grouped_products = grouped->boolean();
  }
  if (const auto flash = section.find("flash_kernel")) kernels.flash_kernel = flash->text();
  kernels.sink_backward_bytes = factor_or(section, "sink_backward_bytes", 0.0);
  if (const auto fused = section.find("fused_experts")) kernels.fused_experts = fused->boolean();
  if (const auto fused = section.find("fused_adapters")) kernels.fused_adapters = fused->boolean();
  if (const auto rates = section.find("dequantise_rates")) {
    constexpr auto& kWords = kWordsOf<BaseFormat>;
    for (std::size_t i = 0; i < std::size(kWords); ++i) {
      if (const auto found = rates->find(kWords[i])) {
        kernels.dequantise_rates[i] = found->number(kPositive);
      }
    }
  }
  return kernels;
}

/// `[forward, backward]` under `key`.
void read_launches(const Cursor& section, std::string_view key, LaunchCounts& counts) {
  const auto found = section.find(key);
  if (!found) return;
  const auto items = found->items();
  if (items.size() != 2) return found->problem("expected [forward, backward]");
  counts = {items[0].number(kNonNegative), items[1].number(kNonNegative)};
}

HostStack read_host(const Cursor& section) {
  HostStack host;
  const auto time_or_none = [&](std::string_view key) {
    return Seconds{factor_or(section, key, 0.0)};
  };
  host.one_launch = time_or_none("launch_s");
  if (const auto range = section.find("launch_range_s")) {
    const auto ends = range->items();
    if (ends.size() != 2) {
      range->problem("expected [tuned, untuned]");
    } else {
      host.launch_range = {Seconds{ends[0].number(kPositive)}, Seconds{ends[1].number(kPositive)}};
      if (host.launch_range->untuned < host.launch_range->tuned) {
        range->problem("tuned launches take longer than untuned ones");
      }
    }
  }
  host.lost_share = factor_or(section, "lost_share", 0.0);
  host.deepep_lost_share = factor_or(section, "deepep_lost_share", host.lost_share);
  if (const auto launches = section.find("launches")) {
    LayerLaunches& layer = host.launches;
    read_launches(*launches, "block", layer.block);
    read_launches(*launches, "experts", layer.experts);
    read_launches(*launches, "alltoall", layer.alltoall);
    if (const auto product = launches->find("expert_product")) {
      const auto numbers = read_numbers(*product, 3, "product, casts, amax");
      layer.expert_product = {numbers[0], numbers[1], numbers[2]};
    }
  }
  if (const auto staged = section.find("staged_collectives_s")) {
    const auto numbers = read_numbers(*staged, 3, "each, ring step, network ring step");
    host.staged_collectives = {{numbers[0]}, {numbers[1]}, {numbers[2]}};
  }
  const bool counted = host.one_launch.value > 0;
  host.async_launch_per_layer = counted ? time_or_none("async_launch_per_layer_s")
                                        : time(section, "async_launch_per_layer_s");
  host.blocking_launch_per_layer = counted ? time_or_none("blocking_launch_per_layer_s")
                                           : time(section, "blocking_launch_per_layer_s");
  host.count_wait = time_or_none("count_wait_s");
  host.beside_launch_share = factor_or(section, "beside_launch_share", 0.0);
  host.update_per_layer = time_or_none("update_per_layer_s");
  host.fixed_per_iteration = time(section, "fixed_per_iteration_s");
  return host;
}

ShardCopies read_shard_copies(const Cursor& list) {
  const auto numbers = read_numbers(list, 3, "gathered, gradients, reduced");
  return {numbers[0], numbers[1], numbers[2]};
}

/// Reads a size, or the parameters that a bucket has at least, alone or with those of a replica.
GradientBucket read_gradient_bucket(const Cursor& bucket) {
  if (bucket.json().is_array()) {
    const auto numbers = read_numbers(bucket, 2, "parameters, parameters of a replica");
    return {{}, numbers[0], numbers[1]};
  }
  const bool has_spread = bucket.is_object() && bucket.json().contains("value");
  if ((has_spread ? bucket.json()["value"] : bucket.json()).is_number()) {
    return {{}, bucket.number(kPositive), {}};
  }
  return {bucket.bytes(), {}, {}};
}

CommunicationStack read_communication(const Cursor& section) {
  CommunicationStack communication;
  communication.gradient_overlap = section.at("gradient_overlap").word<GradientOverlap>();
  if (const auto wait = section.find("p2p_wait_s")) {
    communication.p2p_wait = Seconds{wait->number(kNonNegative)};
  }
  communication.scatter_gather_p2p = section.at("scatter_gather_p2p").boolean();
  communication.blocking_collective_factor = factor_or(section, "blocking_collective_factor", 1.0);
  if (const auto exposed = section.find("exposed_tensor"); exposed && exposed->is_array()) {
    const auto numbers = read_numbers(*exposed, 2, "share, seconds");
    communication.exposed_tensor = numbers[0];
    communication.exposed_tensor_fixed = Seconds{numbers[1]};
  } else {
    communication.exposed_tensor = factor_or(section, "exposed_tensor", 1.0);
  }
  if (const auto narrow = section.find("narrow_gathers")) {
    communication.narrow_gathers = narrow->boolean();
  }
  if (const auto beside = section.find("beside")) {
    const auto numbers = read_numbers(*beside, 2, "kernel by kernel, in one graph");
    communication.beside = numbers[0];
    communication.beside_in_graph = numbers[1];
  }
  if (const auto from = section.find("fully_sharded_from_zero")) {
    communication.fully_sharded_from_zero = static_cast<int>(from->integer(2, 3));
  }
  if (const auto bucket = section.find("gradient_bucket")) {
    communication.gradient_bucket = read_gradient_bucket(*bucket);
  }
  // PyTorch's DDP, whose buckets have a size, has owners update beside no pass.
  if (communication.gradient_bucket.size.value > 0) communication.prefetch_layers = 0;
  if (const auto layers = section.find("prefetch_layers")) {
    communication.prefetch_layers = static_cast<int>(layers->integer(0, 1000));
  }
  communication.overlap_contention = factor_or(section, "overlap_contention", 0.0);
  communication.context_step = {factor_or(section, "context_step_s", 0.0)};
  if (const auto copies = section.find("shard_copies")) {
    communication.shard_copies = read_shard_copies(*copies);
    communication.sharding = Sharding::fsdp;
  }
  if (const auto sharding = section.find("sharding")) {
    communication.sharding = sharding->word<Sharding>();
  }
  if (const auto limit = section.find("rank_rate_limit")) {
    communication.rank_rate_limit = limit->rate();
  }
  if (const auto to_all = section.find("reduces_to_all")) {
    communication.reduces_to_all = to_all->boolean();
  }
  return communication;
}

MemoryStack read_memory(const Cursor& section) {
  MemoryStack memory;
  if (const auto prints = section.find("prints")) memory.prints = prints->word<MemoryKind>();
  memory.weight_bytes = section.at("weight_bytes").number(kNonNegative);
  memory.gradient_bytes = section.at("gradient_bytes").number(kNonNegative);
  memory.optimizer_bytes = section.at("optimizer_bytes").number(kNonNegative);
  memory.activation_factor = factor_or(section, "activation_factor", 1.0);
  memory.layer_workspace_factor = factor_or(section, "layer_workspace_factor", 1.0);
  memory.backward_bytes = factor_or(section, "backward_bytes", 0.0);
  if (const auto copies = section.find("keeps_copies")) {
    memory.keeps_copies = read_value(*copies, Domain<WordSet<KeptCopy>>{});
  }
  memory.norm_copy_bytes = factor_or(section, "norm_copy_bytes", 0.0);
  if (const auto frees = section.find("frees_gradients")) {
    memory.frees_gradients = frees->boolean();
  }
  if (const auto gathers = section.find("keeps_gathers")) {
    memory.keeps_gathers = gathers->boolean();
  }
  const Cursor logits = section.at("logit_bytes");
  if (logits.json().is_array() && logits.json().size() == 4) {
    const auto all = read_numbers(logits, 4, "compiled, eager, and the same of tensor ranks");
    memory.logit_bytes = {all[0], all[1]};
    memory.shared_logit_bytes = {all[2], all[3]};
  } else {
    memory.logit_bytes = memory.shared_logit_bytes = read_compiled_or_eager(logits);
  }
  memory.score_bytes = section.at("score_bytes").number(kNonNegative);
  memory.update_copies = factor_or(section, "update_copies", 0.0);
  memory.reduce_bytes = factor_or(section, "reduce_bytes", 0.0);
  if (const auto spaces = section.find("workspaces")) memory.workspaces = spaces->bytes();
  memory.framework = section.at("framework").bytes();
  if (const auto share = section.find("cache_share")) {
    const auto numbers = read_numbers(*share, 2, "alone, where layers are gathered");
    memory.cache_share = numbers[0];
    memory.gathered_cache_share = numbers[1];
  }
  if (const auto cache = section.find("allocator_cache")) memory.allocator_cache = cache->bytes();
  if (const auto more = section.find("parallel_framework")) {
    memory.parallel_framework = more->bytes();
  }
  return memory;
}

CommonStack read_common(const Cursor& section) {
  CommonStack common;
  common.router_imbalance = section.at("router_imbalance").number(kPositive);
  common.reserved_share = section.at("reserved_share").number(kFraction);
  common.score_forward_share = section.at("score_forward_share").number(kFraction);
  common.count_wait_beside = section.at("count_wait_beside").number(kFraction);
  read_launches(section, "ring_step_launches", common.ring_step);
  read_launches(section, "head_exchange_launches", common.head_exchange);
  common.padded_permute = section.at("padded_permute").number(kPositive);
  common.gathers_back = section.at("gathers_back").number(kNonNegative);
  return common;
}

Calibration read_calibration(const Cursor& section) {
  Calibration calibration;
  calibration.time_noise = section.at("time_noise").number(kPositive);
  for (const auto& [constant, sd] : section.at("spreads").members()) {
    calibration.spreads.push_back({constant, sd.number(kPositive)});
  }
  for (const Cursor& item : section.at("correlations").items()) {
    calibration.correlations.push_back(
        {item.at("first").text(), item.at("second").text(), item.at("value").number({-1.0, 1.0})});
  }
  return calibration;
}

}  // namespace

Software read_software(const Document& file) {
  const Cursor root = file.root();
  Software software;
  expect_schema(root, "prequel/software/1");
  software.name = root.at("name").text();
  software.framework = root.at("framework").text();
  software.validated = root.at("validated").boolean();
  const Cursor error = root.at("error");
  software.relative_error = error.at("sec_per_iter").number(kFraction);
  software.error_basis = error.at("basis").text();
  if (const auto kind = error.find("kind")) software.error_kind = kind->word<ModelKind>();
  if (const auto asked = root.find("stands_for")) {
    software.stands_for = asked->text();
    software.relative_error = std::max(software.relative_error, kUnknownReleaseError);
    software.error_basis = "usual for another release of the same framework";
  }
  if (const auto other = root.find("other_framework")) {
    software.other_framework = other->boolean();
    if (software.other_framework) software.error_basis = "usual for another framework";
  }
  static_cast<void>(root.find("chosen_on"));  // on which runs which constants were chosen: a test
  static_cast<void>(root.find("edited"));     // which of its constants are the user's: Library
  software.vocab_multiple = root.at("vocab_multiple").integer(1, 1 << 20);
  software.stage_dealing = root.at("stage_dealing").word<StageDealing>();
  software.defaults = read_defaults(root.at("defaults"));
  if (const auto choices = root.find("choices")) software.choices = read_choices(*choices);
  software.kernels = read_kernels(root.at("kernels"));
  software.host = read_host(root.at("host"));
  software.host.launch = root.at("launch").word<Launch>();
  software.communication = read_communication(root.at("communication"));
  software.memory = read_memory(root.at("memory"));
  if (const auto common = root.find("common")) software.common = read_common(*common);
  const bool allocated = software.memory.prints == MemoryKind::allocated;
  const bool first = allocated || software.stage_dealing == StageDealing::by_cost;
  software.memory.logs = allocated && software.kernels.transformer_engine ? LoggedRank::last
                         : first                                          ? LoggedRank::first
                                                                          : LoggedRank::fullest;
  software.memory.extra_pipeline_buffers =
      software.stage_dealing == StageDealing::ceil_per_stage ? 1 : 0;
  if (const auto calibration = root.find("calibration")) {
    software.calibration = read_calibration(*calibration);
  }
  file.finish();
  software.spreads = file.spreads();
  return software;
}

}  // namespace prequel
