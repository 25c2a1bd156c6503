#pragma once

/// The shape of a transformer as teams choose it: how deep, how wide, how many heads.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/shape/transformer.hpp"

namespace prequel {

struct ModelShape {
  std::int64_t layers{};
  std::int64_t hidden{};
  std::int64_t heads{};

  auto operator<=>(const ModelShape&) const = default;
};

ModelShape shape_of(const Transformer& model);

/// The shape of `model` with what is said; heads that are not said keep the model's head size.
ModelShape shape_with(const Transformer& model, std::optional<std::int64_t> layers,
                      std::optional<std::int64_t> hidden, std::optional<std::int64_t> heads);

/// Why `model` cannot have this shape, with what would do; empty when it can.
std::string reshape_problem(const Transformer& model, const ModelShape& shape);

/// `model` in another shape. The width of the attention and the inner width of the MLP keep their
/// ratio to `hidden` (the latter rounded down), and as many heads share keys and values as before.
Transformer reshaped(const Transformer& model, const ModelShape& shape);

/// Values to combine; what is empty is as `shape_with` says.
struct ShapeAxes {
  std::vector<std::int64_t> layers, hidden, heads;
};

/// All combinations, those that cannot be included, in the order of the axes.
std::vector<ModelShape> all_shapes(const Transformer& model, const ShapeAxes& axes);

/// Returns those of `shapes` whose model has `parameters`, give or take a share `tolerance` of
/// them.
std::vector<ModelShape> shapes_of_size(const Transformer& model, std::vector<ModelShape> shapes,
                                       double parameters, double tolerance);

}  // namespace prequel
