// Reads device files. Each function reads the object whose struct it returns.

#include <algorithm>

#include "hw/base/schema.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

std::vector<GemmTile> read_tiles(const Cursor& cursor) {
  std::vector<GemmTile> tiles;
  for (const Cursor& entry : cursor.items()) {
    GemmTile tile;
    tile.m = static_cast<double>(entry.at("m").integer(1, 4096));
    tile.n = static_cast<double>(entry.at("n").integer(1, 4096));
    tile.quality = entry.at("quality").number({0.01, 1.25});
    tiles.push_back(tile);
  }
  if (tiles.empty()) cursor.problem("expected at least one tile");
  return tiles;
}

std::vector<double> read_splits(const Cursor& cursor) {
  std::vector<double> splits;
  for (const Cursor& entry : cursor.items()) {
    splits.push_back(static_cast<double>(entry.integer(1, 64)));
  }
  if (splits.empty() || splits.front() != 1.0 || !std::is_sorted(splits.begin(), splits.end())) {
    cursor.problem("expected ascending numbers of splits that begin with 1");
  }
  return splits;
}

constexpr Range kEfficiency{0.0, 1.0, true};

Seconds seconds(const Cursor& cursor) {
  return {cursor.number(kNonNegative)};
}

/// Reads a model of products; `may_leave` tells whether some of them leave the tensor cores.
GemmModel read_gemm(const Cursor& cursor, bool may_leave = true) {
  if (cursor.at("model").choice({"tiled", "flat"}) == 1) {
    FlatGemm flat;
    flat.efficiency = cursor.at("efficiency").number(kEfficiency);
    flat.launch = seconds(cursor.at("launch_s"));
    return flat;
  }
  TiledGemm tiled;
  tiled.tiles = read_tiles(cursor.at("tiles"));
  tiled.splits = read_splits(cursor.at("splits"));
  tiled.efficiency = cursor.at("efficiency").number(kEfficiency);
  tiled.launch = seconds(cursor.at("launch_s"));
  tiled.tile_overhead = seconds(cursor.at("tile_overhead_s"));
  tiled.tail = cursor.at("tail").number(kFraction);
  tiled.l2_rate = cursor.at("l2_rate").rate();
  tiled.memory_fraction = cursor.at("memory_fraction").number(kEfficiency);
  tiled.split = seconds(cursor.at("split_s"));
  tiled.droop = cursor.at("droop").number(kFraction);
  tiled.wgrad_factor = cursor.at("wgrad_factor").number(kPositive);
  if (const auto bytes = cursor.find("gradient_bytes")) {
    tiled.gradient_bytes = bytes->number(kNonNegative);
  }
  if (may_leave) {
    tiled.misaligned_fraction = cursor.at("misaligned_fraction").number(kEfficiency);
  } else if (const auto misaligned = cursor.find("misaligned_fraction")) {
    misaligned->problem(
        "only products of two bytes an element leave the tensor cores; leave it out");
  }
  return tiled;
}

GroupedModel read_grouped(const Cursor& cursor) {
  GroupedModel model{seconds(cursor.at("launch_s")), seconds(cursor.at("group_launch_s")),
                     cursor.at("efficiency").number(kPositive),
                     cursor.at("memory_fraction").number(kPositive)};
  if (const auto rate = cursor.find("l2_factor")) model.l2_factor = rate->number(kPositive);
  if (const auto overhead = cursor.find("tile_overhead_factor")) {
    model.tile_overhead_factor = overhead->number(kPositive);
  }
  return model;
}

StreamModel read_stream(const Cursor& cursor) {
  StreamModel model;
  model.launch = seconds(cursor.at("launch_s"));
  model.memory_fraction = cursor.at("memory_fraction").number(kPositive);
  model.cached_fraction = model.memory_fraction;
  if (const auto cached = cursor.find("cached")) {
    model.cached = cached->at("bytes").bytes();
    model.cached_fraction = cached->at("fraction").number(kPositive);
  }
  if (const auto rows = cursor.find("rows")) {
    model.row_overhead = {rows->at("overhead_bytes").number(kNonNegative)};
    model.row_rate = rows->at("rate").rate();
    if (const auto waves = rows->find("waves")) {
      model.rows_per_unit = waves->at("rows_per_unit").number(kPositive);
      model.last_wave = waves->at("last_wave").number(kFraction);
    }
  }
  return model;
}

/// Every kind that the file does not name costs what its usual one costs, which comes before it.
StreamModels read_streams(const Cursor& cursor) {
  StreamModels models;
  models.front() = read_stream(cursor.at(name(StreamKind::fused_pointwise)));
  for (std::size_t i = 1; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const auto found = cursor.find(name(kind));
    models[i] = found ? read_stream(*found) : models[static_cast<std::size_t>(usual_kind(kind))];
  }
  return models;
}

AttentionPass read_pass(const Cursor& cursor) {
  AttentionPass pass;
  // Efficiency is a share of the 16-bit peak, which 8-bit kernels may pass.
  pass.efficiency = cursor.at("efficiency").number({0.0, 2.0, true});
  pass.saturation_tokens = cursor.at("saturation_tokens").number(kNonNegative);
  pass.launch = seconds(cursor.at("launch_s"));
  pass.tail = cursor.at("tail").number(kNonNegative);
  pass.memory_fraction = cursor.at("memory_fraction").number(kPositive);
  const auto factor = cursor.find("flop_factor");
  pass.flop_factor = factor ? factor->number(kPositive) : 1.0;
  return pass;
}

AttentionKernel read_kernel(const std::string& name, const Cursor& cursor) {
  AttentionKernel kernel;
  kernel.name = name;
  if (const auto names = cursor.find("measured_as")) {
    for (const Cursor& entry : names->items()) kernel.measured_as.push_back(entry.text());
  }
  kernel.skips_masked = cursor.at("skips_masked").boolean();
  const Cursor sizes = cursor.at("head_sizes");
  for (const Cursor& entry : sizes.items()) {
    const std::int64_t head_dim = entry.at("head_dim").integer(1, 4096);
    const auto value_dim = entry.find("value_dim");
    const auto precision = entry.find("precision");
    kernel.head_sizes.push_back(
        {static_cast<double>(head_dim),
         static_cast<double>(value_dim ? value_dim->integer(1, 4096) : head_dim),
         precision && precision->choice({"bf16", "fp8"}) == 1, read_pass(entry.at("forward")),
         read_pass(entry.at("backward"))});
  }
  const auto smaller = [](const AttentionHeadSize& a, const AttentionHeadSize& b) {
    return a.head_dim < b.head_dim;
  };
  if (const auto window = cursor.find("window")) {
    kernel.window = {seconds(window->at("launch_s")),
                     window->at("memory_fraction").number(kPositive),
                     seconds(window->at("block_s")), window->at("edge").number(kNonNegative)};
    if (const auto factor = window->find("fp8_factor")) {
      kernel.window->fp8_factor = factor->number(kPositive);
    }
  }
  if (kernel.head_sizes.empty()) sizes.problem("expected at least one head size");
  if (!std::is_sorted(kernel.head_sizes.begin(), kernel.head_sizes.end(), smaller)) {
    sizes.problem("expected head sizes in ascending order");
  }
  return kernel;
}

void read_power(const Cursor& root, Device& device) {
  const auto power = root.find("power");
  if (!power) return;
  device.power = power->at("watts").number(kPositive);
  if (const auto busy = power->find("busy_watts")) {
    device.plug_power.busy = busy->number(kPositive);
  }
  if (const auto waiting = power->find("wait_watts")) {
    device.plug_power.waiting = waiting->number(kPositive);
    if (device.plug_power.waiting > device.plug_power.busy) {
      waiting->problem("wait_watts is above busy_watts; it should be below");
    }
  }
}

ScanKernel read_scan(const Cursor& cursor) {
  ScanKernel kernel;
  kernel.launch = seconds(cursor.at("launch_s"));
  kernel.token_head = seconds(cursor.at("token_head_s"));
  if (const auto keys = cursor.find("token_key_head_s")) kernel.token_key_head = seconds(*keys);
  if (const auto step = cursor.find("step_s")) kernel.step = seconds(*step);
  std::vector<std::int64_t> head;
  for (const Cursor& size : cursor.at("head").items()) head.push_back(size.integer(1, 4096));
  if (head.size() != 2) {
    cursor.at("head").problem("expected two numbers, the sizes of keys and of values");
  }
  kernel.key_dim = head.front();
  kernel.value_dim = head.back();
  kernel.backward_factor = cursor.at("backward_factor").number(kPositive);
  kernel.error = cursor.at("relative_error").number(kNonNegative);
  return kernel;
}

SparseKernel read_sparse(const Cursor& cursor) {
  const auto rate = [&](std::string_view key) {
    return FlopsPerSecond{cursor.at(key).number(kPositive) * kTera};
  };
  const auto tile = cursor.find("tile_heads");
  return {seconds(cursor.at("launch_s")),
          seconds(cursor.at("backward_launch_s")),
          rate("tflops"),
          rate("backward_tflops"),
          tile ? tile->integer(1, 256) : 1,
          cursor.at("relative_error").number(kNonNegative)};
}

MixerKernels read_mixers(const Cursor& cursor) {
  MixerKernels mixers;
  if (const auto scans = cursor.find("scans")) {
    for (std::size_t i = 0; i < mixers.scans.size(); ++i) {
      const auto scan = scans->find(name(static_cast<ScanKind>(i)));
      if (scan) mixers.scans[i] = read_scan(*scan);
    }
  }
  if (const auto core = cursor.find("sparse_core")) mixers.sparse_core = read_sparse(*core);
  if (const auto indexer = cursor.find("indexer")) mixers.indexer = read_sparse(*indexer);
  return mixers;
}

}  // namespace

Device read_device(const Document& document) {
  const Cursor root = document.root();
  Device device;
  expect_schema(root, "prequel/device/1");
  device.name = root.at("name").text();
  device.compute_units = static_cast<double>(root.at("compute_units").integer(1, 1 << 16));
  device.memory = root.at("memory").bytes();
  if (device.memory.value > 0 && device.memory.value < 1e6) {
    root.at("memory").problem("expected a unit (e.g. \"80 GB\"), as this is a few bytes");
  }
  device.memory_rate = root.at("memory_rate").rate();
  if (const auto cache = root.find("last_level_cache")) {
    device.cache = cache->at("bytes").bytes();
    device.cache_rate = cache->at("rate").rate();
    (void)cache->at("origin").text();
  }
  device.host_link = root.at("host_link").at("rate").rate();
  static_cast<void>(root.find("edited"));  // which of its constants are the user's: Library
  if (const auto sustained = root.find("sustained")) {
    device.sustained = sustained->at("factor").number({0.5, 2.0});
    device.sustained_error = sustained->at("relative_error").number(kFraction);
  }
  read_power(root, device);

  device.clock_ratio =
      root.at("clock_ghz").number({0.1, 10.0}) / root.at("peak_clock_ghz").number({0.1, 10.0});
  const Cursor peaks = root.at("peaks_tflops");
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (const auto peak = peaks.find(name(static_cast<Precision>(i)))) {
      device.peaks[i] = peak->number(kPositive) * kTera * device.clock_ratio;
    }
  }

  if (const auto any = root.find("fp8_in_any_order")) device.fp8_in_any_order = any->boolean();

  const Cursor gemm = root.at("gemm");
  device.gemm = read_gemm(gemm);
  device.errors.gemm = gemm.at("relative_error").number(kNonNegative);
  if (const auto formats = root.find("gemm_formats")) {
    for (std::size_t i = 0; i < kPrecisions; ++i) {
      const auto format = formats->find(name(static_cast<Precision>(i)));
      if (!format) continue;
      device.gemm_formats[i] =
          read_gemm(*format, may_leave_tensor_cores(static_cast<Precision>(i)));
      device.errors.gemm_formats[i] = format->at("relative_error").number(kNonNegative);
    }
  }
  if (const auto grouped = root.find("grouped_gemm")) {
    device.grouped = read_grouped(*grouped);
    device.errors.grouped = grouped->at("relative_error").number(kNonNegative);
  }
  const Cursor streams = root.at("memory_bound");
  device.streams = read_streams(streams);
  device.errors.stream = streams.at("relative_error").number(kNonNegative);
  // Where cores are slower than memory, what they move in a second goes with their clock.
  const auto cores = streams.find("core_bound");
  if (cores && cores->boolean()) device.memory_rate = device.memory_rate * device.clock_ratio;
  if (const auto attention = root.find("attention")) {
    device.errors.attention = attention->at("relative_error").number(kNonNegative);
    for (const auto& [kernel, cursor] : attention->at("kernels").members()) {
      device.attention.push_back(read_kernel(kernel, cursor));
    }
  }
  if (const auto mixers = root.find("mixers")) device.mixers = read_mixers(*mixers);
  if (const auto unmeasured = root.find("unmeasured")) {
    device.errors.unmeasured = unmeasured->at("relative_error").number(kNonNegative);
  }
  if (const auto overlap = root.find("overlap")) {
    device.overlap_loss = overlap->at("loss").number(kFraction);
  }
  document.finish();
  device.spreads = document.spreads();
  return device;
}

}  // namespace prequel
