#pragma once

/// Shapes of the model as users of a search ask for them.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/search/search_options.hpp"
#include "models/job/model_shape.hpp"

namespace prequel {

class Cursor;

/// Shapes to search, and how they were chosen.
struct ShapeChoice {
  std::vector<ModelShape> shapes;  ///< empty: none was asked for
  std::size_t combinations{};      ///< of the values asked for
  double parameters{};             ///< that all shapes have, give or take
  double tolerance{};              ///< this share of them
};

/// Throws InputError where no shape has the number of parameters.
ShapeChoice read_shapes(const SearchOptions& options, const Transformer& model);

/// "22 of 75 shapes searched: those of 176.2e9 parameters, give or take 5 %".
std::string shape_choice_text(const ShapeChoice& choice);

/// Reads the shapes of a table of plans.
class ShapeReader {
 public:
  /// Throws InputError where the options say several values.
  ShapeReader(const SearchOptions& options, const Transformer& model);

  /// Returns those of the fields `layers`, `hidden` and `heads` that the row has.
  [[nodiscard]] ModelShape read(const Cursor& row) const;

 private:
  const Transformer& model_;
  ShapeAxes said_;  ///< one value at most, for rows that leave it out
};

}  // namespace prequel
