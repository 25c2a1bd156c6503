#pragma once

/// Sequences of unequal length: what a data set holds, how sequences fill the micro batches of a
/// step, and what each of these computes.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/axes/axis_words.hpp"

namespace prequel {

struct Plan;

inline constexpr std::string_view kFixedLengths = "fixed";

/// The lengths of a data set: all of them, or a log-normal distribution cut at both ends.
struct Lengths {
  std::vector<std::int64_t> counted;  ///< tokens of each sequence; empty: the distribution
  double mean{}, sd{};                ///< tokens, before the cut
  std::int64_t least{1}, most{1};     ///< tokens

  [[nodiscard]] std::int64_t longest() const {
    return counted.empty() ? most : std::ranges::max(counted);
  }
  /// One sequence at random, tokens; longer ones than `limit` are cut.
  template <class Bits>
  [[nodiscard]] std::int64_t draw(Bits& bits, std::int64_t limit) const {
    return std::min(limit, draw(bits()));
  }
  [[nodiscard]] std::int64_t draw(std::uint64_t word) const;
};

/// Reads the axis `lengths`: nothing for `fixed`; `lognormal:MEAN:SD:MIN:MAX`; the name of a data
/// set whose mean, spread and ends were published; or a file of whole numbers. Throws InputError
/// for other texts.
std::optional<Lengths> read_lengths(const std::string& text);

/// The load of one micro batch, in tokens.
struct MicroBatchLoad {
  double computed{};   ///< padding included
  double squares{};    ///< sum of squares of the sequences that attention sees
  double real{};       ///< without padding
  double sequences{};  ///< in it

  MicroBatchLoad& operator+=(const MicroBatchLoad& other);
};

/// How sequences fill micro batches.
struct Filling {
  Packing packing{};
  Balance balance{};
  std::int64_t seq_len{1};  ///< longest row
  std::int64_t mbs{1};      ///< rows of a micro batch
  std::int64_t replicas{1};
  std::int64_t micro_batches{1};  ///< of each replica
};

Filling filling_of(const Plan& plan);

/// Loads of one step, by replica and micro batch. Rows are single sequences, padded to the longest
/// of their micro batch; where packed, sequences one after the other until the next does not fit,
/// padded to `seq_len`. A packed row computes attention inside each sequence, or with one causal
/// mask over all of it. Balancers change who computes what, never what there is: `sorted` deals
/// rows of like cost to the same micro batches of all replicas, `longest_first` gives the dearest
/// row that is left to the replica that has the least.
std::vector<std::vector<MicroBatchLoad>> draw_step(const Lengths& lengths, const Filling& filling,
                                                   std::mt19937_64& bits);

/// The mean of `steps` steps over micro batches.
MicroBatchLoad mean_load(const Lengths& lengths, const Filling& filling, int steps);

}  // namespace prequel
