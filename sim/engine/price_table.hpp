#pragma once

/// One number for each kind of task on each item (block, layer, …), flat, indexed by PriceId.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/task.hpp"

namespace prequel {

/// `Kind` is an enumeration of `kinds` values from 0.
template <class Kind, std::uint32_t kinds>
class PriceTable {
 public:
  /// Zeros.
  explicit PriceTable(std::uint32_t items) : items_(items), values_(std::size_t{kinds} * items) {}

  static constexpr PriceId price(Kind kind, std::uint32_t item, std::uint32_t items) {
    return static_cast<PriceId>(kind) * items + item;
  }

  [[nodiscard]] double& at(Kind kind, std::uint32_t item) {
    return values_[price(kind, item, items_)];
  }
  [[nodiscard]] double at(Kind kind, std::uint32_t item) const {
    return values_[price(kind, item, items_)];
  }
  [[nodiscard]] std::span<const double> values() const { return values_; }

 private:
  std::uint32_t items_;
  std::vector<double> values_;
};

}  // namespace prequel
