#pragma once

/// Changes between two measurements of the same points.

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

/// Times of one point in both files; ratios above 1 are slower than the reference.
struct ComparedPoint {
  std::string what;  ///< its fields: "bytes=1024 op=all_reduce ranks=8"
  std::string operator_name;
  Seconds reference;
  Seconds time;
  bool beyond_noise{};  ///< the ranges of p10 to p90 of the two do not touch

  [[nodiscard]] double ratio() const { return time / reference; }
};

/// All points of one operator.
struct ComparedGroup {
  std::string operator_name;
  std::size_t points{};
  std::size_t beyond_noise{};
  double median{};  ///< of the ratios
  double p10{};
  double p90{};
};

struct Comparison {
  std::vector<ComparedPoint> points;  ///< that both have, the largest change first
  std::vector<ComparedGroup> groups;  ///< "all" first, then by name
  std::size_t only_reference{};
  std::size_t only_other{};

  [[nodiscard]] double median() const { return groups.empty() ? 1.0 : groups.front().median; }
};

/// Points are the same when all their fields are but the times. The last of several measurements of
/// a point in a file counts.
Comparison compare(const std::vector<Measurement>& reference,
                   const std::vector<Measurement>& other);

}  // namespace prequel
