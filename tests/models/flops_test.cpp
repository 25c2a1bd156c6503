#include "models/layers/flops.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

constexpr double kPrinted = 1e-3;  // printed figures have four digits
constexpr double kA100Peak = 312e12;

bool has(const TableRow& row, const std::string& column) {
  return !row.at(column).empty();
}

StepShape shape_of(const TableRow& row) {
  return {std::stoll(row.at("gbs")),
          std::stoll(row.at("seq_len")),
          std::stoll(row.at("vocab")),
          std::stoll(row.at("tp")),
          row.at("recompute") == "full" ? Recompute::full : Recompute::none,
          AttentionKind::fused_softmax};
}

/// FLOP/s of one device, for the FLOPs of one iteration.
double rate(const TableRow& row, Flops flops) {
  return flops.value / (std::stod(row.at("sec_per_iter")) * std::stod(row.at("gpus")));
}

/// The number that follows `label` in the notes of a row.
double noted(const TableRow& row, const std::string& label) {
  const std::string& notes = row.at("notes");
  return std::stod(notes.substr(notes.find(label) + label.size()));
}

TEST_CASE("printed TFLOPs of the Jean Zay tables follow from their own rows") {
  std::size_t rows = 0;
  for (const TableRow& row : shipped_runs("bigscience-jz-a100.csv")) {
    if (!has(row, "tflops_per_gpu") || !has(row, "sec_per_iter") || !has(row, "layers")) continue;
    CAPTURE(row.at("id"));
    const auto convention = flops_convention(row.at("flops_definition"));
    REQUIRE(convention.has_value());
    const StepFlops flops = step_flops(model_of(row), shape_of(row), *convention);
    CHECK(rate(row, flops.hardware) / 1e12 ==
          doctest::Approx(std::stod(row.at("tflops_per_gpu"))).epsilon(kPrinted));
    ++rows;
  }
  CHECK(rows >= 60);
}

TEST_CASE("printed MFU, HFU, MFU* and HFU* of the MosaicGPT tables follow from their own rows") {
  for (const TableRow& row : shipped_runs("mosaic-a100.csv")) {
    CAPTURE(row.at("id"));
    const StepFlops whole = step_flops(model_of(row), shape_of(row), FlopsConvention::mosaic_2023);
    CHECK(rate(row, whole.model) / kA100Peak ==
          doctest::Approx(std::stod(row.at("mfu"))).epsilon(kPrinted));
    CHECK(rate(row, whole.hardware) / kA100Peak ==
          doctest::Approx(std::stod(row.at("hfu"))).epsilon(kPrinted));
    const StepFlops star =
        step_flops(model_of(row), shape_of(row), FlopsConvention::mosaic_2023_star);
    CHECK(rate(row, star.model) / kA100Peak ==
          doctest::Approx(noted(row, "printed MFU* ")).epsilon(kPrinted));
    CHECK(rate(row, star.hardware) / kA100Peak ==
          doctest::Approx(noted(row, "HFU* ")).epsilon(kPrinted));
  }
}

TEST_CASE("counted one by one, a GPT has the FLOPs of the closed form") {
  const Transformer model = shipped_model("gpt3-175b");
  const StepShape step{1536, 2048, 51200, 8, Recompute::full, AttentionKind::unfused};
  const double h = static_cast<double>(model.hidden);
  const double l = static_cast<double>(model.layers);
  const double base = 72.0 * 1536 * 2048 * l * h * h;
  const StepFlops flops = step_flops(model, step);
  CHECK(flops.model.value ==
        doctest::Approx(base * (1 + 2048 / (6 * h) + 51200 / (12 * l * h))).epsilon(1e-12));
  CHECK(flops.hardware.value - flops.model.value ==
        doctest::Approx(base / 3 * (1 + 2048 / (6 * h))).epsilon(1e-9));
}

TEST_CASE("hardware FLOPs grow from no over selective to full recompute") {
  const Transformer model = shipped_model("gpt3-175b");
  StepShape step{1536, 2048, 51200, 8, Recompute::none, AttentionKind::unfused};
  const StepFlops none = step_flops(model, step);
  step.recompute = Recompute::selective;
  const StepFlops selective = step_flops(model, step);
  step.attention = AttentionKind::flash;
  const StepFlops selective_flash = step_flops(model, step);
  CHECK(none.model.value == none.hardware.value);
  CHECK(selective.model.value == none.model.value);
  CHECK(selective.hardware.value > none.hardware.value);
  // A flash kernel is repeated as well, as it is priced.
  CHECK(selective_flash.hardware.value == selective.hardware.value);
}

TEST_CASE("the causal count leaves out half of the pairs of queries and keys, and nothing else") {
  const Transformer model = shipped_model("llama-3-8b");
  StepShape step;
  step.gbs = 4;
  step.seq_len = 8192;
  step.vocab = model.vocab;
  step.recompute = Recompute::full;
  const StepFlops full = step_flops(model, step, FlopsConvention::prequel);
  const StepFlops causal = step_flops(model, step, FlopsConvention::causal);
  const double pairs = 4.0 * 8192 * 8192 / 2 * 32 * 32 * 128;  // sequences, layers, heads, head
  CHECK(full.model.value - causal.model.value == doctest::Approx(3 * 4 * pairs).epsilon(1e-12));
  CHECK(full.hardware.value - causal.hardware.value ==
        doctest::Approx(4 * 4 * pairs).epsilon(1e-12));
}

TEST_CASE("a repetition that stops early does not count the MLP's last product") {
  const Transformer model = shipped_model("llama-3-8b");
  StepShape step;
  step.gbs = 4;
  step.seq_len = 8192;
  step.vocab = model.vocab;
  step.recompute = Recompute::full;
  const StepFlops whole = step_flops(model, step, FlopsConvention::prequel);
  step.stops_early = true;
  const StepFlops early = step_flops(model, step, FlopsConvention::prequel);
  const double last = 2.0 * 4 * 8192 * 32 * 4096 * 14336;  // sequences, tokens, layers, weights
  CHECK(early.model.value == whole.model.value);
  CHECK(whole.hardware.value - early.hardware.value == doctest::Approx(last).epsilon(1e-12));
}

TEST_CASE("attention in chunks counts the pairs within them, and all of them in full layers") {
  Transformer model = shipped_model("llama4-scout");
  StepShape step;
  step.gbs = 2;
  step.seq_len = 20480;  // two chunks of 8192 and one of 4096
  step.vocab = model.vocab;
  const auto flops = [&](FlopsConvention convention) {
    return step_flops(model, step, convention).model.value;
  };
  const double chunked = flops(FlopsConvention::prequel);
  const double causal = flops(FlopsConvention::causal);
  model.chunk = 0;
  model.full_every = 0;
  const double full = flops(FlopsConvention::prequel);
  const double all = 20480.0 * 20480;
  const double within = 2 * 8192.0 * 8192 + 4096.0 * 4096;
  const double pair = 2.0 * 4 * 40 * 128;  // sequences, FLOP of a pair of vectors, heads, head
  CHECK(full - chunked == doctest::Approx(3 * 36 * pair * (all - within)).epsilon(1e-9));
  CHECK(chunked - causal == doctest::Approx(3 * pair * (36 * within + 12 * all) / 2).epsilon(1e-9));
  // A chunk that holds the sequence is none.
  model.chunk = step.seq_len;
  CHECK(flops(FlopsConvention::prequel) == full);
}

TEST_CASE("conventions are known by their names") {
  for (const std::string_view name : kFlopsConventionNames) {
    REQUIRE(flops_convention(name).has_value());
    CHECK(prequel::name(*flops_convention(name)) == name);
  }
  CHECK_FALSE(flops_convention("palm").has_value());
}

}  // namespace
}  // namespace prequel
