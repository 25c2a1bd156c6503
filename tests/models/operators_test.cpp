#include "models/layers/operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/layers/flops.hpp"
#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

double gemm_flops(const Operators& operators) {
  double flops = 0;
  for (const Operator& op : operators) {
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      flops += 2.0 * static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
               static_cast<double>(gemm->k) * static_cast<double>(gemm->batch);
    }
  }
  return flops;
}

/// Bytes that a rank of a ring sends: an all-reduce is a reduce-scatter and an all-gather.
double ring_bytes(const Operators& operators) {
  double bytes = 0;
  for (const Operator& op : operators) {
    if (const auto* collective = std::get_if<GroupCollective>(&op.what)) {
      bytes += (collective->op == CollectiveOp::all_reduce ? 2 : 1) * collective->bytes.value;
    }
  }
  return bytes;
}

LayerSetting operator_setting(std::int64_t tp,
                              AttentionKind attention = AttentionKind::fused_softmax) {
  LayerSetting setting;
  setting.mbs = 4;
  setting.seq_len = 2048;
  setting.tp = tp;
  setting.precision = setting.products = Precision::bf16;
  setting.attention = attention;
  return setting;
}

const Software& stack() {
  static const Software software = shipped_software("megatron-deepspeed-2022");
  return software;
}

Layer block(const Transformer& model, const LayerSetting& setting, const Software& software) {
  return tell_block(model, model.kind_of(0), setting, software);
}
Operators block_forward(const Transformer& model, const LayerSetting& setting,
                        const Software& software) {
  return forward_operators(block(model, setting, software), software);
}
Operators block_backward(const Transformer& model, const LayerSetting& setting,
                         const Software& software) {
  return backward_operators(block(model, setting, software), software);
}
Operators block_recompute(const Transformer& model, const LayerSetting& setting,
                          const Software& software, Recompute mode) {
  return repeated_operators(block(model, setting, software), software, repeated_modules(mode));
}
Operators head_forward(const Transformer& model, const LayerSetting& setting,
                       const Software& software) {
  return forward_operators(tell_head(model, setting, software), software);
}
Operators head_backward(const Transformer& model, const LayerSetting& setting,
                        const Software& software) {
  return backward_operators(tell_head(model, setting, software), software);
}

/// Products of all layers and the head, on all tensor ranks, for one micro batch.
double step_products(const Transformer& model, const LayerSetting& setting, Recompute recompute) {
  const double blocks = gemm_flops(block_forward(model, setting, stack())) +
                        gemm_flops(block_backward(model, setting, stack())) +
                        gemm_flops(block_recompute(model, setting, stack(), recompute));
  const double head = gemm_flops(head_forward(model, setting, stack())) +
                      gemm_flops(head_backward(model, setting, stack()));
  return (static_cast<double>(model.layers) * blocks + head) * static_cast<double>(setting.tp);
}

TEST_CASE("the products of all operators are the FLOPs that a step is said to have") {
  for (const char* name : {"gpt3-175b", "bloom-176b", "llama-3-70b", "gpt2-124m"}) {
    const Transformer model = shipped_model(name);
    for (const std::int64_t tp : {1, 4}) {
      for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        const std::int64_t vocab = padded_vocab(model.vocab, tp, stack().vocab_multiple);
        const StepFlops flops =
            step_flops(model, {4, 2048, vocab, tp, recompute, AttentionKind::fused_softmax});
        CAPTURE(name);
        CAPTURE(tp);
        CHECK(step_products(model, operator_setting(tp), recompute) ==
              doctest::Approx(flops.hardware.value).epsilon(1e-12));
      }
    }
  }
}

double stream_bytes(const Operators& operators) {
  double bytes = 0;
  for (const Operator& op : operators) {
    if (const auto* stream = std::get_if<Stream>(&op.what)) bytes += stream->bytes.value;
  }
  return bytes;
}

TEST_CASE("a soft-cap is two more passes forward and three backward, of scores and of logits") {
  const Transformer plain = shipped_model("gpt3-175b");
  Transformer capped = plain;
  capped.score_cap = capped.logit_cap = true;
  const auto more = [&](const auto& operators, AttentionKind attention) {
    return stream_bytes(operators(capped, operator_setting(8, attention), stack())) -
           stream_bytes(operators(plain, operator_setting(8, attention), stack()));
  };
  const double scores = 2.0 * 4 * (96.0 / 8) * 2048 * 2048;  // bytes
  CHECK(more(block_forward, AttentionKind::fused_softmax) == doctest::Approx(2 * scores));
  CHECK(more(block_backward, AttentionKind::fused_softmax) == doctest::Approx(3 * scores));
  CHECK(more(block_forward, AttentionKind::flash) == 0);
  const double logits = 2.0 * 4 * 2048 *
                        static_cast<double>(padded_vocab(plain.vocab, 8, stack().vocab_multiple)) /
                        8;
  CHECK(more(head_forward, AttentionKind::flash) == doctest::Approx(2 * logits));
  CHECK(more(head_backward, AttentionKind::flash) == doctest::Approx(3 * logits));
}

TEST_CASE("full recompute repeats the forward pass, selective the core of attention") {
  const Transformer model = shipped_model("gpt3-175b");
  const Operators forward = block_forward(model, operator_setting(8), stack());
  const Operators full = block_recompute(model, operator_setting(8), stack(), Recompute::full);
  CHECK(gemm_flops(full) == gemm_flops(forward));
  CHECK(ring_bytes(full) == ring_bytes(forward));
  const Operators selective =
      block_recompute(model, operator_setting(8), stack(), Recompute::selective);
  CHECK(gemm_flops(selective) == 2 * 2.0 * 4 * (96.0 / 8) * 2048 * 2048 * 128);
  CHECK(ring_bytes(selective) == 0);
  CHECK(block_recompute(model, operator_setting(8), stack(), Recompute::none).empty());
}

TEST_CASE("inputs that tensor ranks share are gathered once before their layers are repeated") {
  const Transformer model = shipped_model("gpt3-175b");
  LayerSetting shared = operator_setting(8);
  const double whole = ring_bytes(block_recompute(model, shared, stack(), Recompute::full));
  shared.saved_input_ranks = 8;
  const double input = 2.0 * 4 * 2048 * 12288;  // bytes of s·b·h in bf16
  CHECK(ring_bytes(block_recompute(model, shared, stack(), Recompute::full)) == whole + input);
  CHECK(ring_bytes(block_forward(model, shared, stack())) == whole);
  shared.saved_input_layers = 4;
  CHECK(ring_bytes(block_recompute(model, shared, stack(), Recompute::full)) == whole + input / 4);
}

TEST_CASE("selective recompute repeats a flash kernel's forward, as Megatron-Core's does") {
  const Transformer model = shipped_model("gpt3-175b");
  const Operators repeated = block_recompute(model, operator_setting(8, AttentionKind::flash),
                                             stack(), Recompute::selective);
  REQUIRE(repeated.size() == 1);
  CHECK_FALSE(std::get<FusedAttention>(repeated.front().what).backward);
}

TEST_CASE("a layer has two all-reduces forward and two backward, of the hidden states") {
  const Transformer model = shipped_model("gpt3-175b");
  const double hidden_bytes = 4.0 * 2048 * 12288 * 2;
  CHECK(ring_bytes(block_forward(model, operator_setting(8), stack())) == 2 * 2 * hidden_bytes);
  CHECK(ring_bytes(block_backward(model, operator_setting(8), stack())) == 2 * 2 * hidden_bytes);
  CHECK(ring_bytes(block_forward(model, operator_setting(1), stack())) == 0);
}

TEST_CASE("sequence parallelism moves the same bytes forward, and gathers inputs again backward") {
  const Transformer model = shipped_model("gpt3-175b");
  LayerSetting split = operator_setting(8);
  split.sequence_parallel = true;
  const double hidden_bytes = 4.0 * 2048 * 12288 * 2;
  CHECK(ring_bytes(block_forward(model, split, stack())) ==
        ring_bytes(block_forward(model, operator_setting(8), stack())));
  CHECK(ring_bytes(block_backward(model, split, stack())) ==
        ring_bytes(block_backward(model, operator_setting(8), stack())) + 2 * hidden_bytes);
}

TEST_CASE("tensor ranks share the products of a layer evenly") {
  const Transformer model = shipped_model("gpt3-175b");
  const double whole = gemm_flops(block_forward(model, operator_setting(1), stack()));
  for (const std::int64_t tp : {2, 4, 8}) {
    CHECK(gemm_flops(block_forward(model, operator_setting(tp), stack())) *
              static_cast<double>(tp) ==
          whole);
  }
}

TEST_CASE(
    "keys and values go round once a head of theirs, or of the queries where they are repeated") {
  const Transformer model = shipped_model("llama-3-8b");
  LayerSetting four = operator_setting(1, AttentionKind::flash);
  four.cp = 4;
  Software software = stack();
  software.kernels.transformer_engine = true;
  const auto ring = [&](const Operators& operators) {
    const auto found = std::find_if(operators.begin(), operators.end(), [](const Operator& op) {
      return std::holds_alternative<ContextRing>(op.what);
    });
    REQUIRE(found != operators.end());
    return std::get<ContextRing>(found->what).bytes.value;
  };
  const auto forward = [&] { return ring(block_forward(model, four, software)); };
  const auto backward = [&] { return ring(block_backward(model, four, software)); };
  // Tokens of a rank, 8 heads of 128, keys and values of 2 bytes; backward their gradients, too.
  const double bytes = 4 * 512 * 8 * 128 * 2 * 2.0;
  CHECK(forward() == bytes);
  CHECK(backward() == 2 * bytes);
  software.kernels.transformer_engine = false;  // PyTorch's: of each query head, gradients in fp32
  CHECK(forward() == 4 * bytes);
  CHECK(backward() == 3 * 4 * bytes);
}

TEST_CASE("each step of a ring adds its result to those before it") {
  const Transformer model = shipped_model("llama-3-8b");
  LayerSetting four = operator_setting(1, AttentionKind::flash);
  four.cp = 4;
  Software software = stack();
  software.kernels.transformer_engine = true;
  const auto streamed = [&](const Operators& operators) {
    double bytes = 0;
    for (const Operator& op : operators) {
      if (const auto* stream = std::get_if<Stream>(&op.what)) bytes += stream->bytes.value;
    }
    return bytes;
  };
  const auto forward = [&] { return streamed(block_forward(model, four, software)); };
  const auto backward = [&] { return streamed(block_backward(model, four, software)); };
  const double once = forward();
  const double back = backward();
  four.context_comm = ContextComm::all_gather;
  // A result of 512 tokens a sequence, 4096 wide, in each of 4 steps: read and written in fp32, and
  // its gradient in 16 bits.
  const double elements = 4 * 512 * 4096 * 4.0;
  CHECK(once - forward() == doctest::Approx(8 * elements));
  CHECK(back - backward() == doctest::Approx(4 * elements));
}

TEST_CASE("an attention that the software does not have is refused") {
  Software software = stack();
  software.kernels.unfused.reset();
  CHECK(error_text([&] {
          (void)block_forward(shipped_model("gpt2-124m"),
                              operator_setting(1, AttentionKind::unfused), software);
        }) ==
        "attention: software \"megatron-deepspeed-2022\" has no \"unfused\" attention "
        "(kernels.score_traffic); another of \"unfused\", \"fused-softmax\", \"flash\" would do");
}

}  // namespace
}  // namespace prequel
