#include "models/job/model_shape.hpp"
#include "models/layers/parameters.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace prequel {
namespace {

/// The width of the attention, all heads together, in a model of this `hidden`.
std::int64_t attention_width(const Transformer& model, std::int64_t hidden) {
  return model.attention_width() * hidden / model.hidden;
}

/// The divisors of `whole` next to `wanted`: "96 or 108".
std::string divisors_around(std::int64_t whole, std::int64_t wanted) {
  const std::int64_t from = std::max<std::int64_t>(1, std::min(wanted, whole));
  std::int64_t below = from;
  while (whole % below != 0) --below;
  std::int64_t above = from;
  while (whole % above != 0) ++above;
  return below == above ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
}

using Values = std::vector<std::optional<std::int64_t>>;

Values said_or_one(const std::vector<std::int64_t>& axis) {
  return axis.empty() ? Values{std::nullopt} : Values(axis.begin(), axis.end());
}

}  // namespace

ModelShape shape_of(const Transformer& model) {
  return {model.layers, model.hidden, model.heads};
}

ModelShape shape_with(const Transformer& model, std::optional<std::int64_t> layers,
                      std::optional<std::int64_t> hidden, std::optional<std::int64_t> heads) {
  ModelShape shape{layers.value_or(model.layers), hidden.value_or(model.hidden), model.heads};
  const std::int64_t width = attention_width(model, shape.hidden);
  const bool keeps_size = model.head_dim > 0 && width > 0 && width % model.head_dim == 0;
  shape.heads = heads.value_or(keeps_size ? width / model.head_dim : model.heads);
  return shape;
}

std::string reshape_problem(const Transformer& model, const ModelShape& shape) {
  const std::int64_t width = attention_width(model, shape.hidden);
  if (width < shape.heads || width % shape.heads != 0) {
    return fmt::format("heads {}: do not divide an attention that is {} wide; {} would do",
                       shape.heads, width, divisors_around(width, shape.heads));
  }
  const std::int64_t sharing = model.heads / model.kv_heads;
  if (shape.heads % sharing != 0) {
    const std::int64_t above = (shape.heads / sharing + 1) * sharing;
    return fmt::format("heads {}: {} each share keys and values; {} would do", shape.heads, sharing,
                       above);
  }
  return {};
}

Transformer reshaped(const Transformer& model, const ModelShape& shape) {
  Transformer other = model;
  other.layers = shape.layers;
  other.hidden = shape.hidden;
  other.heads = shape.heads;
  other.kv_heads = shape.heads * model.kv_heads / model.heads;
  other.head_dim = attention_width(model, shape.hidden) / shape.heads;
  other.ffn_hidden = model.ffn_hidden * shape.hidden / model.hidden;
  return other;
}

std::vector<ModelShape> all_shapes(const Transformer& model, const ShapeAxes& axes) {
  std::vector<ModelShape> shapes;
  for (const auto& layers : said_or_one(axes.layers)) {
    for (const auto& hidden : said_or_one(axes.hidden)) {
      for (const auto& heads : said_or_one(axes.heads)) {
        shapes.push_back(shape_with(model, layers, hidden, heads));
      }
    }
  }
  return shapes;
}

std::vector<ModelShape> shapes_of_size(const Transformer& model, std::vector<ModelShape> shapes,
                                       double parameters, double tolerance) {
  std::erase_if(shapes, [&](const ModelShape& shape) {
    const auto has = static_cast<double>(total_parameters(reshaped(model, shape)));
    return std::abs(has - parameters) > tolerance * parameters;
  });
  return shapes;
}

}  // namespace prequel
