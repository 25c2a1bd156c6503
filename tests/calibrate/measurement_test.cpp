#include "calibrate/readings/measurement.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

TEST_CASE("a row with m, n and k is a product, its layout the pass") {
  const Measurement point = read_measurement({{"m", "4096"},
                                              {"n", "1024"},
                                              {"k", "512"},
                                              {"dtype", "fp16"},
                                              {"transA", "N"},
                                              {"transB", "T"},
                                              {"time_us", "12.5"}});
  const auto& gemm = std::get<Gemm>(point.what);
  CHECK(gemm.n == 1024);
  CHECK(gemm.precision == Precision::fp16);
  CHECK(gemm.pass == GemmPass::wgrad);
  CHECK(point.time.value == doctest::Approx(12.5e-6));
  CHECK(point.fields.at("operator") == "gemm");
  CHECK(point.fields.at("size_class") == "10^9..10^10 FLOP");
}

TEST_CASE("rows of mixers are scans with their passes, sparse attention, or memory-bound kernels") {
  const Fields scan{{"kernel", "gdn"}, {"impl", "triton"}, {"pass_", "fwd+bwd"}, {"batch", "2"},
                    {"seq", "4096"},   {"k_heads", "16"},  {"v_heads", "32"},    {"k_dim", "128"},
                    {"v_dim", "128"},  {"chunk", "64"},    {"ms", "3.5"}};
  const Measurement point = read_measurement(scan);
  CHECK(point.time.value == doctest::Approx(3.5e-3));
  CHECK(point.fields.at("operator") == "gdn");
  const auto& passes = std::get<MeasuredKernels>(point.what).kernels;
  REQUIRE(passes.size() == 2);
  CHECK(std::get<Scan>(passes[0]).tokens() == 8192);
  CHECK_FALSE(std::get<Scan>(passes[0]).backward);
  CHECK(std::get<Scan>(passes[1]).backward);

  Fields serving = scan;
  serving["impl"] = "flashinfer-inference-only";
  CHECK(std::holds_alternative<MeasuredOther>(read_measurement(serving).what));

  const Measurement sparse = read_measurement({{"kernel", "sparse-mla"},
                                               {"seq", "4096"},
                                               {"k_heads", "1"},
                                               {"v_heads", "64"},
                                               {"k_dim", "576"},
                                               {"v_dim", "512"},
                                               {"chunk", "topk 1024, keys 32768"},
                                               {"ms", "1"}});
  CHECK(std::get<SparseAttention>(std::get<MeasuredKernels>(sparse.what).kernels[0]).keys == 1024);

  const Measurement streams = read_measurement(
      {{"kernel", "mhc-post"}, {"seq", "4096"}, {"k_heads", "4"}, {"k_dim", "7168"}, {"ms", "1"}});
  CHECK(std::get<MeasuredStream>(streams.what).stream.bytes.value ==
        doctest::Approx(2.0 * 9 * 4096 * 7168));
}

TEST_CASE("a row with ranks is a collective") {
  const Measurement point = read_measurement({{"op", "all_gather"},
                                              {"ranks", "8"},
                                              {"nodes", "1"},
                                              {"bytes", "4096"},
                                              {"time_s", "2e-5"}});
  const auto& what = std::get<MeasuredCollective>(point.what);
  CHECK(what.op == CollectiveOp::all_gather);
  CHECK(what.ranks == 8);
  CHECK(point.time.value == doctest::Approx(2e-5));
}

TEST_CASE("a row with seq and heads is attention, whose heads may be of two sizes") {
  const Measurement point = read_measurement({{"batch", "2"},
                                              {"seq", "4096"},
                                              {"heads", "16"},
                                              {"kv_heads", "2"},
                                              {"qk_head_dim", "192"},
                                              {"v_head_dim", "128"},
                                              {"pass", "bwd"},
                                              {"causal", "1"},
                                              {"time_us", "100"}});
  const auto& what = std::get<MeasuredAttention>(point.what);
  CHECK(what.attention.head_dim == 192);
  CHECK(what.attention.value_dim == 128);
  CHECK(what.attention.kv_heads == 2);
  CHECK(what.attention.backward);
  CHECK(what.kernel == "flash-2");
}

TEST_CASE("two chained kernels share the bytes of their row") {
  const Measurement point =
      read_measurement({{"op", "add_x2"}, {"tokens", "8"}, {"bytes", "1200"}, {"time_us", "3"}});
  const auto& what = std::get<MeasuredStream>(point.what);
  CHECK(what.count == 2.0);
  CHECK(what.stream.kind == StreamKind::residual_add);
  CHECK(what.stream.bytes.value == 600.0);
  CHECK(what.stream.rows == 8.0);
}

TEST_CASE("a row that times both ways of tokens to experts is two points") {
  const Fields row{{"library", "DeepEP v1 normal"},
                   {"ep", "8"},
                   {"nodes", "1"},
                   {"tokens", "4096"},
                   {"hidden", "7168"},
                   {"topk", "8"},
                   {"sms", "24"},
                   {"dispatch_us", "498.4"},
                   {"combine_us", "960.6"},
                   {"dispatch_dtype", "fp8+1x128 scales"},
                   {"combine_dtype", "bf16"}};
  const std::vector<Fields> both = both_ways(row);
  REQUIRE(both.size() == 2);
  const Measurement there = read_measurement(both[0]);
  const auto& what = std::get<MeasuredDispatch>(there.what);
  CHECK(what.dispatch.dispatcher == Dispatcher::deepep);
  CHECK_FALSE(what.dispatch.combine);
  CHECK(what.dispatch.precision == Precision::fp8_block);
  CHECK(what.dispatch.top_k == 8);
  CHECK(what.ranks == 8);
  CHECK(what.units == 24);
  CHECK(there.time.value == doctest::Approx(498.4e-6));
  CHECK(there.fields.at("operator") == "dispatch");
  CHECK(there.fields.at("size_class") == "10^3..10^4 tokens");
  const Measurement back = read_measurement(both[1]);
  CHECK(std::get<MeasuredDispatch>(back.what).dispatch.combine);
  CHECK(std::get<MeasuredDispatch>(back.what).dispatch.precision == Precision::bf16);
  CHECK(back.time.value == doctest::Approx(960.6e-6));
  CHECK(both_ways({{"time_us", "1"}}).size() == 1);
}

/// A layer of 32 experts on one of four devices: a quarter of the copies.
Fields expert_layer() {
  return {{"tokens", "4096"}, {"hidden", "2048"},    {"inter", "1024"}, {"topk", "4"},
          {"experts", "32"},  {"ep", "4"},           {"tp", "2"},       {"local_rows", "4096"},
          {"dtype", "bf16"},  {"kernel", "cutlass"}, {"time_us", "200"}};
}

/// Bytes of the n-th kernel of that kind.
double bytes_of(const Measurement& point, StreamKind kind, int n = 0) {
  for (const auto& kernel : std::get<MeasuredKernels>(point.what).kernels) {
    const auto* stream = std::get_if<Stream>(&kernel);
    if (stream && stream->kind == kind && n-- == 0) return stream->bytes.value;
  }
  return 0.0;
}

const GroupedGemm& up_projection(const Measurement& point) {
  return std::get<GroupedGemm>(std::get<MeasuredKernels>(point.what).kernels[1]);
}

TEST_CASE("a layer of experts reads the tokens that have copies here and writes all of them back") {
  const Measurement point = read_measurement(expert_layer());
  CHECK(up_projection(point).groups == 8);
  CHECK(up_projection(point).outputs == 1024);
  const double here = 4096 * (1 - std::pow(0.75, 4));
  CHECK(bytes_of(point, StreamKind::permute) == doctest::Approx(2 * 2048 * (here + 4096)));
  CHECK(bytes_of(point, StreamKind::permute, 1) == doctest::Approx(2 * 2048 * (4096 + 4096)));
  CHECK(bytes_of(point, StreamKind::swiglu) == doctest::Approx(6.0 * 4096 * 512));
}

TEST_CASE("on one device every token has copies, and none has more than there are") {
  Fields alone = expert_layer();
  alone["ep"] = "1";
  alone["local_rows"] = "16384";
  CHECK(bytes_of(read_measurement(alone), StreamKind::permute) ==
        doctest::Approx(2 * 2048 * (4096.0 + 16384)));
  Fields few = expert_layer();
  few["local_rows"] = "100";
  CHECK(bytes_of(read_measurement(few), StreamKind::permute) ==
        doctest::Approx(2 * 2048 * (100.0 + 100)));
}

TEST_CASE("experts without a gate have one projection up") {
  Fields row = expert_layer();
  row["gated"] = "0";
  const Measurement point = read_measurement(row);
  CHECK(up_projection(point).outputs == 512);
  CHECK(bytes_of(point, StreamKind::swiglu) == doctest::Approx(4.0 * 4096 * 512));
  row["gated"] = "1";
  CHECK(up_projection(read_measurement(row)).outputs == 1024);
  row["gated"] = "maybe";
  CHECK(error_text([&] { read_measurement(row); }) == "gated: expected 1 or 0, got \"maybe\"");
}

TEST_CASE("of experts without tokens no weights are read, and there are no more than all") {
  Fields row = expert_layer();
  row["used_experts"] = "16";
  CHECK(up_projection(read_measurement(row)).groups == 4);
  row["used_experts"] = "33";
  CHECK(error_text([&] { read_measurement(row); }) ==
        "used_experts: 33 of 32 experts; at most all of them");
}

TEST_CASE("generated kernels fill the rows of an expert up to a tile, a power of two") {
  Fields row = expert_layer();
  const auto padding = [&](const std::string& kernel, const std::string& rows) {
    row["kernel"] = kernel;
    row["local_rows"] = rows;
    return up_projection(read_measurement(row)).padding;
  };
  CHECK(padding("trtllm-gen (flashinfer, sglang)", "10") == 8);
  CHECK(padding("trtllm-gen (flashinfer, sglang)", "136") == 32);  // 17 an expert
  CHECK(padding("trtllm-gen (flashinfer, sglang)", "4096") == 64);
  CHECK(padding("deepgemm m-grouped (trtllm)", "136") == 128);
  CHECK(padding("cutlass grouped (trtllm)", "136") == 1);
}

TEST_CASE("libraries that cast a token before it is copied read it once") {
  Fields row = expert_layer();
  row["local_rows"] = "8192";
  row["dtype"] = "fp8-block";
  const auto casts = [&](const std::string& kernel) {
    row["kernel"] = kernel;
    return bytes_of(read_measurement(row), StreamKind::quantize_block);
  };
  CHECK(casts("triton fused (sglang)") == doctest::Approx(casts("cutlass grouped (trtllm)") / 2));
  CHECK(casts("own") == casts("cutlass grouped (trtllm)"));
  row["dtype"] = "nvfp4";
  const Measurement point = read_measurement(row);
  row["kernel"] = "cutlass grouped (trtllm)";
  CHECK(bytes_of(read_measurement(row), StreamKind::quantize_nvfp4) ==
        doctest::Approx(bytes_of(point, StreamKind::quantize_nvfp4) / 2));
}

TEST_CASE("a rate of a dispatch counts a copy for each place that a token goes to") {
  Fields row{{"library", "HybridEP"}, {"phase", "combine"}, {"ep", "16"},  {"nodes", "2"},
             {"tokens", "4096"},      {"hidden", "4096"},   {"topk", "1"}, {"dtype", "bf16"},
             {"gb_s", "100"},         {"level", "nvlink"}};
  CHECK(read_measurement(row).time.value == doctest::Approx(4096.0 * 8192 / 100e9));
  row["topk"] = "8";
  const double inside = read_measurement(row).time.value;
  row["level"] = "rdma";
  const double across = read_measurement(row).time.value;
  CHECK(inside == doctest::Approx(16 * (1 - std::pow(15.0 / 16, 8)) * 4096.0 * 8192 / 100e9));
  CHECK(across == doctest::Approx(2 * (1 - std::pow(0.5, 8)) * 4096.0 * 8192 / 100e9));
  row["library"] = "NVLinkTwoSided";
  CHECK(error_text([&] { (void)read_measurement(row); }) ==
        "library: expected one of DeepEP, HybridEP and TRT-LLM, got \"NVLinkTwoSided\"");
}

TEST_CASE("TensorRT-LLM's exchanges are priced as DeepEP's, whose copies they send, back in bf16") {
  Fields row{{"library", "TRT-LLM NVLinkTwoSided 1.2.0rc6"},
             {"op", "alltoall_dispatch"},
             {"ep", "32"},
             {"tokens", "4096"},
             {"hidden", "7168"},
             {"topk", "8"},
             {"dtype", "fp8"},
             {"time_us", "428.39"}};
  const Measurement there = read_measurement(row);
  const auto& what = std::get<MeasuredDispatch>(there.what);
  CHECK(what.dispatch.dispatcher == Dispatcher::deepep);
  CHECK_FALSE(what.dispatch.combine);
  CHECK(what.dispatch.precision == Precision::fp8_block);
  CHECK(there.fields.at("operator") == "dispatch");
  row["op"] = "alltoall_combine";
  const auto back = std::get<MeasuredDispatch>(read_measurement(row).what);
  CHECK(back.dispatch.combine);
  CHECK(back.dispatch.precision == Precision::bf16);
  row["op"] = "alltoall_prepare";
  CHECK(error_text([&] { (void)read_measurement(row); }).find("alltoall_prepare") !=
        std::string::npos);
}

TEST_CASE("several kernels at once are not taken for one of them") {
  const Fields product{{"m", "8"}, {"n", "16"}, {"k", "8"}, {"time_s", "1"}};
  Fields beside = product;
  beside["op"] = "gemm_beside_collective";
  CHECK(std::get<MeasuredBeside>(read_measurement(beside).what).gemm.n == 16);
  const Fields chain{{"op", "attention_chain"}, {"seq", "8"}, {"heads", "8"}, {"time_s", "1"}};
  CHECK(std::get<MeasuredOther>(read_measurement(chain).what).op == "attention_chain");
}

TEST_CASE("copies say their direction and whether their memory is pinned") {
  Fields fields{
      {"op", "host_to_device"}, {"pinned", "true"}, {"bytes", "4096"}, {"time_s", "1e-6"}};
  const auto there = std::get<MeasuredCopy>(read_measurement(fields).what);
  CHECK(there.to_device);
  CHECK(there.pinned);
  fields["op"] = "device_to_host";
  fields["pinned"] = "false";
  const auto back = std::get<MeasuredCopy>(read_measurement(fields).what);
  CHECK_FALSE(back.to_device);
  CHECK_FALSE(back.pinned);
  CHECK(back.bytes.value == 4096.0);
}

TEST_CASE("what is missing or not sound in a row is said") {
  const auto read = [](Fields fields) {
    return error_text([&] { static_cast<void>(read_measurement(std::move(fields))); });
  };
  CHECK(read({{"m", "1"}}) == "no time_us");
  CHECK(read({{"time_us", "-3"}}) == "time_us: expected a positive number, got \"-3\"");
  CHECK(read({{"time_us", "3"}, {"op", "dance"}, {"bytes", "1"}}) == "op: \"dance\" is not known");
  CHECK(read({{"time_us", "3"}, {"m", "1.5"}, {"n", "1"}, {"k", "1"}}) ==
        "m: expected a whole number, got \"1.5\"");
  CHECK(read({{"time_us", "3"}, {"m", "1"}, {"n", "1"}, {"k", "1"}, {"dtype", "int4"}}) ==
        "dtype: expected fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8 or nvfp4, got \"int4\"");
  CHECK(read({{"time_us", "3"}, {"op", "allreduce"}, {"ranks", "2"}}) ==
        "op: \"allreduce\" is not a collective");
}

}  // namespace
}  // namespace prequel
