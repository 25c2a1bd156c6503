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

/// The word for a capacity factor: "dropped" for 1.
std::string dropped_tokens(double capacity_factor);

/// Tokens of the busiest of `ranks` ranks over the mean, where expert i gets `loads[i]` of all and
/// ranks hold experts one after another. The number of loads is a multiple of `ranks`.
double imbalance_of(const std::vector<double>& loads, std::int64_t ranks);

/// With natural routing, of which `usual` is known: the same, but no rank gets more than all, so
/// that one rank has no imbalance.
double natural_imbalance(double usual, std::int64_t ranks);

/// Reads a number an expert, between blanks, commas or lines: shares or counts of tokens. Throws
/// InputError unless there are `experts` numbers that are not negative, and one is above 0.
std::vector<double> read_histogram(const std::string& path, std::int64_t experts);

}  // namespace prequel
