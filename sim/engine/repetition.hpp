#pragma once

/// When a step that repeats the same wave of tasks has become periodic.
///
/// A wave is x' = A ⊗ x in max-plus algebra. Once all times have advanced by one common time over
/// some waves, they do so for ever. Where nothing holds the first streams back (GPipe), each soon
/// advances by a time of its own, wave by wave; then all waves are alike, too.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace prequel {

/// The clocks at the end of a wave.
struct Wave {
  std::uint32_t number = 0;   ///< from 1
  std::vector<double> times;  ///< at which streams, then carried tokens, are done
  std::vector<double> sums;   ///< of whatever grows by a constant a period
};

class Repetition {
 public:
  void begin();

  /// Everything that has changed since a wave changes again by as much over as many waves.
  struct Found {
    const Wave* since = nullptr;  ///< valid until the next call
    std::uint32_t waves{};
  };

  /// Takes the end of one more wave.
  std::optional<Found> find(std::span<const double> finish, std::span<const double> carried,
                            std::span<const double> sums);

 private:
  void save(std::span<const double> finish, std::span<const double> carried,
            std::span<const double> sums, Wave& wave) const;
  /// Tests whether all have advanced by a common time since `before`.
  [[nodiscard]] static bool advances_together(const Wave& before, std::span<const double> finish,
                                              std::span<const double> carried);
  /// Tests whether everything advanced from `next_` on as it did from `saved_` to `next_`, and will
  /// go on so.
  [[nodiscard]] bool advances_steadily(std::span<const double> finish,
                                       std::span<const double> carried) const;

  Wave saved_;
  Wave next_;  // one wave later
  std::uint32_t wave_ = 0;
};

/// Adds so many times what has changed since `before`.
void repeat(const Wave& before, double times, std::span<double> finish, std::span<double> carried,
            std::span<double> sums);

}  // namespace prequel
