#include "cli/search/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cli/flags/value_lists.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/layers/parameters.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostLayers = 100'000;
constexpr std::int64_t kMostWidth = 1 << 20;
constexpr std::size_t kMostShapes = 10'000;
constexpr double kBillion = 1e9;
constexpr double kUsualTolerance = 0.05;

ShapeAxes read_shape_axes(const SearchOptions& options) {
  const auto numbers = [&](const std::string& axis, std::int64_t most) {
    const auto found = options.shape_axes.find(axis);
    return found == options.shape_axes.end() ? std::vector<std::int64_t>{}
                                             : whole_numbers("--" + axis, found->second, 1, most);
  };
  return {numbers("layers", kMostLayers), numbers("hidden", kMostWidth),
          numbers("heads", kMostWidth)};
}

double parameters_of(const Transformer& model, const ModelShape& shape) {
  return static_cast<double>(total_parameters(reshaped(model, shape)));
}

[[noreturn]] void refuse(const ShapeChoice& choice, const Transformer& model,
                         const std::vector<ModelShape>& shapes) {
  const auto distance = [&](const ModelShape& shape) {
    return std::abs(parameters_of(model, shape) - choice.parameters);
  };
  const ModelShape nearest = *std::ranges::min_element(shapes, {}, distance);
  throw InputError(fmt::format(
      "none of {} shapes has {:.4g}e9 parameters, give or take {:.4g} %; {} layers of {} come "
      "nearest with {:.4g}e9: other --layers or --hidden, --parameters or a larger "
      "--parameters-tolerance would do",
      choice.combinations, choice.parameters / kBillion, 100 * choice.tolerance, nearest.layers,
      nearest.hidden, parameters_of(model, nearest) / kBillion));
}

}  // namespace

ShapeChoice read_shapes(const SearchOptions& options, const Transformer& model) {
  if (options.shape_axes.empty()) {
    const char* flag = options.parameters             ? "--parameters"
                       : options.parameters_tolerance ? "--parameters-tolerance"
                                                      : nullptr;
    if (flag) throw InputError(fmt::format("{}: needs --layers, --hidden or --heads", flag));
    return {};
  }
  const ShapeAxes axes = read_shape_axes(options);
  const std::size_t combinations = std::max<std::size_t>(1, axes.layers.size()) *
                                   std::max<std::size_t>(1, axes.hidden.size()) *
                                   std::max<std::size_t>(1, axes.heads.size());
  if (combinations > kMostShapes) {
    throw InputError(fmt::format("--layers, --hidden, --heads: {} shapes; at most {} would do",
                                 combinations, kMostShapes));
  }
  const std::vector<ModelShape> all = all_shapes(model, axes);
  ShapeChoice choice;
  choice.combinations = all.size();
  choice.parameters = options.parameters.value_or(static_cast<double>(total_parameters(model)));
  choice.tolerance = options.parameters_tolerance.value_or(kUsualTolerance);
  choice.shapes = shapes_of_size(model, all, choice.parameters, choice.tolerance);
  if (choice.shapes.empty()) refuse(choice, model, all);
  return choice;
}

std::string shape_choice_text(const ShapeChoice& choice) {
  return fmt::format(
      "{} of {} shapes searched: those of {:.4g}e9 parameters, give or take {:.4g} %",
      choice.shapes.size(), choice.combinations, choice.parameters / kBillion,
      100 * choice.tolerance);
}

ShapeReader::ShapeReader(const SearchOptions& options, const Transformer& model)
    : model_(model), said_(read_shape_axes(options)) {
  for (const auto& [axis, text] : options.shape_axes) {
    const auto& values = axis == "layers"   ? said_.layers
                         : axis == "hidden" ? said_.hidden
                                            : said_.heads;
    if (values.size() > 1) {
      throw InputError("--" + axis + " " + text +
                       ": with --plans one value is needed, for rows that leave it out");
    }
  }
}

ModelShape ShapeReader::read(const Cursor& row) const {
  const auto field = [&](const char* name, std::int64_t most,
                         const std::vector<std::int64_t>& said) -> std::optional<std::int64_t> {
    if (const auto found = row.find(name)) return found->integer(1, most);
    return said.empty() ? std::nullopt : std::optional(said.front());
  };
  return shape_with(model_, field("layers", kMostLayers, said_.layers),
                    field("hidden", kMostWidth, said_.hidden),
                    field("heads", kMostWidth, said_.heads));
}

}  // namespace prequel
