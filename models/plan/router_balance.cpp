#include "models/plan/router_balance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/portable_math.hpp"
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

double imbalance_of(const std::vector<double>& loads, std::int64_t ranks) {
  const auto each = static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(loads.size()) / ranks);
  double most = 0;
  for (auto first = loads.begin(); first != loads.end(); first += each) {
    most = std::max(most, std::accumulate(first, first + each, 0.0));
  }
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  return most * static_cast<double>(ranks) / all;
}

namespace {

/// The standard normal's quantile, for probabilities of a half and more (Abramowitz and Stegun
/// 1964, 26.2.23: error below 4.5e-4).
double normal_quantile(double probability) {
  if (probability <= 0.5) return 0.0;
  const double t = std::sqrt(-2.0 * portable::log(1.0 - probability));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/// How many standard deviations the largest of n normals lies above their mean.
double largest_of(double n) {
  return normal_quantile((n - 0.375) / (n + 0.25));
}

// The stated imbalance was seen on Qwen3-235B over 8 ranks.
constexpr double kSeenExperts = 128, kSeenTopK = 8, kSeenRanks = 8;

}  // namespace

double expert_load_deviation(double usual, std::int64_t experts, std::int64_t top_k) {
  const double seen = (usual - 1.0) / largest_of(kSeenRanks) * std::sqrt(kSeenExperts / kSeenRanks);
  const double sparse = static_cast<double>(experts) / static_cast<double>(top_k) - 1.0;
  return std::max(0.0, seen) * std::min(1.0, sparse / (kSeenExperts / kSeenTopK - 1.0));
}

double natural_imbalance(double usual, const NaturalRouting& routing) {
  if (routing.ranks <= 1 || routing.experts <= 0 || routing.top_k <= 0) return 1.0;
  const double experts = static_cast<double>(routing.experts);
  const double ranks = static_cast<double>(routing.ranks);
  const double deviation = expert_load_deviation(usual, routing.experts, routing.top_k);
  const double held = experts / ranks;
  // Copies that a rank gets by chance, of all tokens of the group.
  const double copies = routing.tokens * static_cast<double>(routing.top_k);
  const double chance = copies > 0 ? 1.0 / copies : 0.0;
  const double spread = std::sqrt(deviation * deviation / held + chance);
  const double most = std::min(ranks, experts / static_cast<double>(routing.top_k));
  return std::min(std::max(1.0, most), 1.0 + largest_of(ranks) * spread);
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
