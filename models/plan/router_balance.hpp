#pragma once

/// How evenly a router spreads tokens over the ranks of an expert group.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// Words of the axis `router_balance`; any other text is the name of a file.
inline constexpr std::string_view kForcedBalance = "forced";  ///< all experts get as many tokens
/// Experts take as many tokens as all on the mean, padded to that, and what exceeds it is lost;
/// with a number behind it, "dropped:1.25", so many times the mean.
inline constexpr std::string_view kDroppedTokens = "dropped";
inline constexpr std::string_view kNaturalBalance = "natural";  ///< as the router has it

/// How many times the mean an expert takes where tokens are dropped; none for other words. 0 where
/// what stands behind "dropped:" is no positive number.
std::optional<double> capacity_factor(std::string_view balance);

/// Tokens of the busiest of `ranks` ranks over the mean, where expert i gets `loads[i]` of all and
/// ranks hold experts one after another. The number of loads is a multiple of `ranks`.
double imbalance_of(const std::vector<double>& loads, std::int64_t ranks);

/// Who shares the tokens of a layer by natural routing.
struct NaturalRouting {
  std::int64_t experts{}, top_k{};
  std::int64_t ranks{};  ///< of the expert group
  double tokens{};       ///< of a rank, before copies
};

/// How unevenly a natural router loads experts early in training: standard deviation of an expert's
/// tokens over the mean. It grows with how few of the experts a token takes, to what 8 of 128 show.
/// `usual` is what the busiest of 8 ranks then gets over the mean.
double expert_load_deviation(double usual, std::int64_t experts, std::int64_t top_k);

/// The busiest rank's tokens over the mean: ranks hold experts / ranks each, whose loads scatter by
/// that deviation and by chance, and of normals the largest of n lies at the (n - 3/8) / (n + 1/4)
/// quantile (Blom 1958). No rank gets more than all tokens, no expert more than each token once.
double natural_imbalance(double usual, const NaturalRouting& routing);

/// Reads a number an expert, between blanks, commas or lines: shares or counts of tokens. Throws
/// InputError unless there are `experts` numbers that are not negative, and one is above 0.
std::vector<double> read_histogram(const std::string& path, std::int64_t experts);

}  // namespace prequel
