#include "models/job/model_shape.hpp"
#include "models/layers/parameters.hpp"

#include <doctest/doctest.h>

#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

TEST_CASE("a model in its own shape is the same model") {
  for (const char* name : {"bloom-176b", "llama-3-70b", "gpt2-2.5b"}) {
    const Transformer model = shipped_model(name);
    const Transformer same = reshaped(model, shape_of(model));
    CHECK(same.head_dim == model.head_dim);
    CHECK(same.kv_heads == model.kv_heads);
    CHECK(same.ffn_hidden == model.ffn_hidden);
    CHECK(total_parameters(same) == total_parameters(model));
    CHECK(reshape_problem(model, shape_of(model)).empty());
  }
}

TEST_CASE("the MLP and the attention widen with hidden, and key heads stay shared") {
  const Transformer wide = reshaped(shipped_model("llama-3-70b"), {80, 9216, 72});
  CHECK(wide.ffn_hidden == 9216 * 7 / 2);
  CHECK(wide.head_dim == 128);
  CHECK(wide.kv_heads == 9);
  CHECK(wide.attention_width() == 9216);
}

TEST_CASE("heads that are not said keep their size") {
  const Transformer model = shipped_model("bloom-176b");
  CHECK(shape_with(model, {}, 13312, {}) == ModelShape{70, 13312, 104});
  CHECK(shape_with(model, 72, {}, {}) == ModelShape{72, 14336, 112});
  CHECK(shape_with(model, {}, 14336, 64) == ModelShape{70, 14336, 64});
  // No multiple of the head size: the model's own count, for reshape_problem to judge.
  CHECK(shape_with(model, {}, 14400, {}).heads == 112);
}

TEST_CASE("heads that do not divide the attention, or share keys unevenly, are a problem") {
  CHECK(reshape_problem(shipped_model("bloom-176b"), {70, 14336, 60}) ==
        "heads 60: do not divide an attention that is 14336 wide; 56 or 64 would do");
  CHECK(reshape_problem(shipped_model("bloom-176b"), {70, 100, 200}) ==
        "heads 200: do not divide an attention that is 100 wide; 100 would do");
  CHECK(reshape_problem(shipped_model("llama-3-70b"), {80, 8192, 4}) ==
        "heads 4: 8 each share keys and values; 8 would do");
}

TEST_CASE("a model too narrow for its heads is a problem, not a crash") {
  Transformer model = shipped_model("gpt2-124m");
  model.hidden = 1;
  model.head_dim = 0;
  CHECK(shape_with(model, {}, {}, {}) == shape_of(model));
  CHECK(reshape_problem(model, shape_of(model)) ==
        "heads 12: do not divide an attention that is 0 wide; 1 would do");
}

TEST_CASE("shapes of one size are those within the tolerance, and heads do not count") {
  const Transformer model = shipped_model("bloom-176b");
  const auto total = static_cast<double>(total_parameters(model));
  const std::vector<ModelShape> all = all_shapes(model, {{69, 70, 71}, {}, {64, 112}});
  CHECK(all.size() == 6);
  const double layer = static_cast<double>(layer_parameters(model)) / total;
  CHECK(shapes_of_size(model, all, total, 0.9 * layer) ==
        std::vector<ModelShape>{{70, 14336, 64}, {70, 14336, 112}});
  CHECK(shapes_of_size(model, all, total, 1.1 * layer) == all);
}

}  // namespace
}  // namespace prequel
