#include "models/plan/router_balance.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"

namespace prequel {

std::optional<double> capacity_factor(std::string_view balance) {
  if (!balance.starts_with(kDroppedTokens)) return std::nullopt;
  balance.remove_prefix(kDroppedTokens.size());
  if (balance.empty()) return 1.0;
  if (!balance.starts_with(':')) return std::nullopt;
  const auto factor = parse_number(std::string(balance.substr(1)));
  return factor && *factor > 0 ? *factor : 0.0;
}

std::string dropped_tokens(double capacity_factor) {
  return capacity_factor == 1 ? std::string(kDroppedTokens)
                              : fmt::format("{}:{}", kDroppedTokens, capacity_factor);
}

double imbalance_of(const std::vector<double>& loads, std::int64_t ranks) {
  const auto each = static_cast<std::ptrdiff_t>(loads.size()) / ranks;
  double most = 0;
  for (auto first = loads.begin(); first != loads.end(); first += each) {
    most = std::max(most, std::accumulate(first, first + each, 0.0));
  }
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  return most * static_cast<double>(ranks) / all;
}

double natural_imbalance(double usual, std::int64_t ranks) {
  return std::min(usual, static_cast<double>(ranks));
}

std::vector<double> read_histogram(const std::string& path, std::int64_t experts) {
  std::string text = read_file(path);
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  std::vector<double> loads;
  for (std::string word; in >> word;) {
    const auto load = parse_number(word);
    if (!load || *load < 0) {
      throw InputError(
          fmt::format("{}: expected a number an expert, 0 or more, got {}", path, in_quotes(word)));
    }
    loads.push_back(*load);
  }
  if (loads.size() != static_cast<std::size_t>(experts)) {
    throw InputError(
        fmt::format("{}: {} numbers, but the model has {} experts", path, loads.size(), experts));
  }
  if (std::ranges::max(loads) <= 0) {
    throw InputError(path + ": all numbers are 0; the share of tokens of each expert would do");
  }
  return loads;
}

}  // namespace prequel
