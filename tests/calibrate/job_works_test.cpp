#include "calibrate/fit/job_works.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/scenarios.hpp"

namespace prequel {
namespace {

std::vector<std::string> works_of(const Settings& settings) {
  std::vector<std::string> texts;
  for (const Work& work : job_works(shipped_scenario(settings))) {
    texts.push_back(work_text(work));
  }
  return texts;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

TEST_CASE("a job's products are measured in their exact shapes, in all three passes") {
  const auto texts = works_of({});  // hidden 14336, tp 8, mbs 4, sequences of 2048
  CHECK(has(texts,
            R"({"op":"gemm","m":8192,"n":5376,"k":14336,"batch":1,"dtype":"fp16","layout":"TN"})"));
  CHECK(has(texts,
            R"({"op":"gemm","m":8192,"n":14336,"k":5376,"batch":1,"dtype":"fp16","layout":"NN"})"));
  CHECK(has(texts,
            R"({"op":"gemm","m":5376,"n":14336,"k":8192,"batch":1,"dtype":"fp16","layout":"NT"})"));
}

TEST_CASE("a job's attention is measured as products a head, or as one kernel") {
  const std::string scores =
      R"({"op":"gemm","m":2048,"n":2048,"k":224,"batch":32,"dtype":"fp16","layout":"TN"})";
  const std::string chain =
      R"({"op":"attention_chain","batch":4,"seq":2048,"heads":8,"head_dim":224})";
  const std::string fused = R"({"op":"attention","batch":4,"seq":2048,"heads":8,"kv_heads":8,)"
                            R"("head_dim":224,"causal":true,"pass":"bwd"})";
  const auto unfused = works_of({});
  CHECK(has(unfused, scores));
  CHECK(has(unfused, chain));
  CHECK_FALSE(has(unfused, fused));
  const auto flash =
      works_of({{"plan.attention", "flash"}, {"software.kernels.flash_kernel", "flash-2"}});
  CHECK(has(flash, fused));
  CHECK_FALSE(has(flash, scores));
  CHECK_FALSE(has(flash, chain));
}

TEST_CASE("a job's tensor-parallel collectives are measured in their group and size") {
  CHECK(has(works_of({}), R"({"op":"all_reduce","ranks":8,"nodes":1,"bytes":234881024})"));
  for (const std::string& text : works_of({{"plan.tp", "1"}, {"plan.dp", "64"}})) {
    CHECK(text.find("all_reduce") == std::string::npos);
  }
}

TEST_CASE("a job's experts and casts are measured, too, and all of it can be told to the program") {
  const Scenario scenario = planned("qwen3-30b-a3b", "dgx-b200", "megatron-core-2026",
                                    {{"plan.dp", "8"},
                                     {"plan.ep", "8"},
                                     {"plan.gbs", "64"},
                                     {"plan.seq_len", "4096"},
                                     {"plan.precision", "fp8"},
                                     {"plan.fp8_recipe", "mxfp8"}});
  std::size_t experts = 0;
  std::size_t casts = 0;
  for (const Work& work : job_works(scenario)) {
    if (const auto* product = std::get_if<GroupedGemm>(&work)) {
      CHECK(product->groups == 128 / 8);
      CHECK(product->precision == Precision::mxfp8);
      ++experts;
    }
    const auto* stream = std::get_if<Stream>(&work);
    if (stream && stream->kind == StreamKind::quantize_mxfp8) ++casts;
    const std::string text = work_text(work);
    CHECK(work_text(read_works("works", text).front()) == text);
  }
  CHECK(experts == 6);  // two products, forward and for both gradients
  CHECK(casts > 0);
}

TEST_CASE("a job's works are each there once") {
  auto texts = works_of({});
  const std::size_t count = texts.size();
  std::ranges::sort(texts);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  CHECK(texts.size() == count);
}

}  // namespace
}  // namespace prequel
