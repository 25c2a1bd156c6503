#include "models/stack/release.hpp"

#include <cmath>
#include <cstddef>

#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

constexpr double kFirstYear = 2000;  ///< versions from here on are years
constexpr double kShortYears = 20;   ///< versions from here to 99 are years of this century

/// The version as a year, where it is one.
std::optional<double> in_years(double version) {
  if (version >= kFirstYear) return version;
  if (version >= kShortYears && version < 100) return kFirstYear + version;
  return std::nullopt;
}

}  // namespace

Release release_of(const std::string& name) {
  for (std::size_t dash = name.find('-'); dash != std::string::npos;
       dash = name.find('-', dash + 1)) {
    std::size_t first = dash + 1;
    if (first < name.size() && name[first] == 'v') ++first;
    const std::size_t stop = name.find_first_not_of("0123456789", first);
    if (stop == first) continue;
    const auto whole = parse_number(name.substr(first, stop - first));
    if (!whole) continue;
    Release release{name.substr(0, dash), *whole};
    if (stop == std::string::npos) return release;
    const std::size_t after = name.find_first_not_of("0123456789", stop + 1);
    const auto part = parse_number(name.substr(stop + 1, after - stop - 1));
    // Months and minor versions never exceed 99.
    if (part) release.version += *part / 100;
    return release;
  }
  return {name};
}

std::optional<int> year_of(const Release& release) {
  if (release.version == kNewestVersion) return std::nullopt;
  const auto year = in_years(release.version);
  if (!year) return std::nullopt;
  return static_cast<int>(std::floor(*year));
}

Release known_as(Release release, const Document& stacks) {
  constexpr int kMostNames = 8;  // more lead round in a circle
  const Cursor root = stacks.root();
  expect_schema(root, "prequel/stacks/1");
  for (int i = 0; i < kMostNames; ++i) {
    std::optional<std::string> other;
    for (const Cursor& entry : root.at("frameworks").items()) {
      if (entry.at("name").text() != release.framework) continue;
      const auto from = entry.find("from");
      const double version = in_years(release.version).value_or(kNewestVersion);
      if (!from || version >= from->number(kPositive)) other = entry.at("as").text();
    }
    if (!other) break;
    release.framework = *other;
  }
  return release;
}

std::optional<std::string> nearest_release(const Release& asked,
                                           const std::vector<std::string>& known) {
  std::optional<std::string> best;
  double least = 0.0;
  for (const std::string& name : known) {
    const Release other = release_of(name);
    if (other.framework != asked.framework) continue;
    const auto year = in_years(asked.version), other_year = in_years(other.version);
    const bool alike = year.has_value() == other_year.has_value();
    const double wanted = alike ? year.value_or(asked.version) : kNewestVersion;
    const double distance = std::abs(other_year.value_or(other.version) - wanted);
    if (best && distance >= least) continue;
    best = name;
    least = distance;
  }
  return best;
}

}  // namespace prequel
