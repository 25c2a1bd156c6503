#pragma once

/// Names of software as frameworks and their releases.

#include <optional>
#include <string>
#include <vector>

namespace prequel {

class Document;

/// Version of a name that states none: after every release.
inline constexpr double kNewestVersion = 9999;

/// A release as "megatron-lm-2021", "torchtitan-2025-06", "nemo-25.09" or "mlperf-v5.1" names it: a
/// framework, and a year or version with its month or minor version as hundredths.
struct Release {
  std::string framework;
  double version{kNewestVersion};
};

Release release_of(const std::string& name);

/// The year in which the release is, where its version is one ("2024", "25.09").
std::optional<int> year_of(const Release& release);

/// The release by the name that its framework has in data/software: what `frameworks` of
/// data/stand_ins/stacks.json says it is known as.
Release known_as(Release release, const Document& stacks);

/// The known release of the same framework that is nearest in time, the older of two; of a version
/// that counts otherwise than those known ("0.15" among years) the newest.
std::optional<std::string> nearest_release(const Release& asked,
                                           const std::vector<std::string>& known);

}  // namespace prequel
