#pragma once

/// The answer of a search as people and programs read it.

#include <optional>
#include <string>
#include <vector>

#include "cli/search/explanation_format.hpp"
#include "cli/search/options.hpp"
#include "cli/search/shapes.hpp"
#include "cli/terminal.hpp"
#include "sim/search/gains.hpp"
#include "sim/search/relaxation.hpp"
#include "sim/search/search.hpp"

namespace prequel {

/// What is printed: the result, and whole predictions of the best plans.
struct SearchAnswer {
  const SearchInputs& inputs;
  const SearchOptions& options;
  const SearchResult& result;
  std::vector<Prediction> best;          ///< of the first plans of the result
  double seconds{};                      ///< that the search took
  std::vector<std::vector<Gain>> gains;  ///< of 10 % more of each resource, for each of `best`
  /// Seconds of the first plans by the detailed engine; nothing where it would take too long.
  std::vector<std::optional<double>> detailed;
  std::vector<Relaxation> relaxations;  ///< where nothing fits
  std::vector<ExplainedLayout> explained;
  ShapeChoice shapes;

  /// Whether a plan is within the stated error of the best.
  [[nodiscard]] bool is_tie(std::size_t rank) const;
  /// Whether a plan is for a model of another shape than the one that was given.
  [[nodiscard]] bool has_shapes() const;
};

std::string search_text(const SearchAnswer& answer, const Terminal& terminal);
/// The document `prequel/search/1`.
std::string search_json(const SearchAnswer& answer);
std::string search_csv(const SearchAnswer& answer);

}  // namespace prequel
