#include "hw/site.hpp"

#include <array>

#include <fmt/format.h>

#include "hw/base/schema.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

constexpr double kSecondsPerDay = 86400;

enum class Unit {
  number,
  seconds,             ///< or text, "8 min"
  per_1000_node_days,  ///< as studies of failures give it
  per_day,
  bytes_per_second  ///< or text, "1 GB/s"
};

template <class Part>
struct Figure {
  const char* key;
  double Part::*member;
  Unit unit;
  Range range{kNonNegative};
};

constexpr std::array<Figure<Reliability>, 22> kReliability{{
    {"node_failures", &Reliability::node_failures, Unit::per_1000_node_days},
    {"rate_sigma", &Reliability::rate_sigma, Unit::number, {0, 3}},
    {"lemon_shape", &Reliability::lemon_shape, Unit::number},
    {"job_failures", &Reliability::job_failures, Unit::number},
    {"least_job_failures", &Reliability::least_job_failures, Unit::per_day},
    {"hang_share", &Reliability::hang_share, Unit::number, kFraction},
    {"watchdog", &Reliability::watchdog, Unit::seconds},
    {"planned_stops", &Reliability::planned_stops, Unit::per_1000_node_days},
    {"silent_corruption", &Reliability::silent_corruption, Unit::per_1000_node_days},
    {"corruption_latency", &Reliability::corruption_latency, Unit::seconds},
    {"fail_slow", &Reliability::fail_slow, Unit::per_1000_node_days},
    {"slowdown_low", &Reliability::slowdown_low, Unit::number, kPositive},
    {"slowdown_high", &Reliability::slowdown_high, Unit::number, kPositive},
    {"slow_median", &Reliability::slow_median, Unit::seconds},
    {"slow_p90", &Reliability::slow_p90, Unit::seconds},
    {"slow_longest", &Reliability::slow_longest, Unit::seconds},
    {"restart", &Reliability::restart, Unit::seconds},
    {"restart_sigma", &Reliability::restart_sigma, Unit::number, {0, 3}},
    {"detect", &Reliability::detect, Unit::seconds},
    {"unattended_share", &Reliability::unattended_share, Unit::number, kFraction},
    {"unattended", &Reliability::unattended, Unit::seconds},
    {"repair", &Reliability::repair, Unit::seconds},
}};
constexpr std::array<Figure<Storage>, 7> kStorage{{
    {"node_write", &Storage::node_write, Unit::bytes_per_second},
    {"total_write", &Storage::total_write, Unit::bytes_per_second},
    {"read_factor", &Storage::read_factor, Unit::number, kPositive},
    {"sync_overhead", &Storage::sync_overhead, Unit::seconds},
    {"async_overhead", &Storage::async_overhead, Unit::seconds},
    {"copy_share", &Storage::copy_share, Unit::number, {0, 1, true}},
    {"copy_limit", &Storage::copy_limit, Unit::bytes_per_second},
}};
constexpr std::array<Figure<Facility>, 5> kFacility{{
    {"pue", &Facility::pue, Unit::number, {1, 10}},
    {"network_share", &Facility::network_share, Unit::number, kFraction},
    {"storage_share", &Facility::storage_share, Unit::number, kFraction},
    {"plug_over_board", &Facility::plug_over_board, Unit::number, {1, 10}},
    {"waiting_over_busy", &Facility::waiting_over_busy, Unit::number, kFraction},
}};

/// Returns a time in s, which may also be text with a unit.
double read_duration(const Cursor& cursor) {
  if (!cursor.is_text()) return cursor.number(kNonNegative);
  const std::string text = cursor.text();
  const auto parsed = parse_duration(text);
  if (!parsed) cursor.problem("expected a time such as \"8 min\", got " + in_quotes(text));
  return parsed ? parsed->value : 0;
}

double in_si(const Cursor& cursor, Unit unit, const Range& range) {
  switch (unit) {
    case Unit::number: return cursor.number(range);
    case Unit::seconds: return read_duration(cursor);
    case Unit::per_1000_node_days: return cursor.number({0, 1e6}) / (1000 * kSecondsPerDay);
    case Unit::per_day: return cursor.number({0, 1e6}) / kSecondsPerDay;
    case Unit::bytes_per_second: return cursor.rate().value;
  }
  return 0;
}

template <class Part, std::size_t n>
StatedFigures<Part> read_figures(const Cursor& cursor, const std::array<Figure<Part>, n>& figures) {
  StatedFigures<Part> stated;
  for (const Figure<Part>& figure : figures) {
    if (const auto found = cursor.find(figure.key)) {
      stated.emplace_back(figure.member, in_si(*found, figure.unit, figure.range));
    }
  }
  if (const auto origins = cursor.find("origins")) {
    for (const auto& [key, origin] : origins->members()) (void)origin.text();
  }
  return stated;
}

/// Those of a class, which must have all but limits that there need not be.
template <class Part, std::size_t n>
Part read_all(const Cursor& cursor, const std::array<Figure<Part>, n>& figures,
              double Part::*optional = nullptr) {
  Part part;
  for (const Figure<Part>& figure : figures) {
    if (figure.member != optional) (void)cursor.at(figure.key);
  }
  for (const auto& [member, value] : read_figures(cursor, figures)) part.*member = value;
  return part;
}

void check_order(const Cursor& cursor, const Reliability& reliability) {
  if (reliability.slowdown_high < reliability.slowdown_low) {
    cursor.problem("slowdown_high is below slowdown_low; it should be above");
  }
  if (reliability.slow_p90 < reliability.slow_median) {
    cursor.problem("slow_p90 is below slow_median; it should be above");
  }
}

}  // namespace

Site read_site(const Document& file) {
  const Cursor root = file.root();
  Site site;
  expect_schema(root, "prequel/site/1");
  site.name = root.at("name").text();
  const Cursor reliability = root.at("reliability");
  site.reliability = read_all(reliability, kReliability);
  check_order(reliability, site.reliability);
  site.storage = read_all(root.at("storage"), kStorage, &Storage::total_write);
  site.facility = read_all(root.at("facility"), kFacility);
  file.finish();
  return site;
}

StatedSite read_stated_site(const Cursor& root) {
  StatedSite stated;
  if (const auto reliability = root.find("reliability")) {
    if (const auto maturity = reliability->find("class")) stated.maturity = maturity->text();
    stated.reliability = read_figures(*reliability, kReliability);
  }
  if (const auto storage = root.find("storage")) stated.storage = read_figures(*storage, kStorage);
  if (const auto facility = root.find("facility")) {
    stated.facility = read_figures(*facility, kFacility);
  }
  return stated;
}

Site with_figures(Site site, const StatedSite& stated) {
  for (const auto& [member, value] : stated.reliability) site.reliability.*member = value;
  for (const auto& [member, value] : stated.storage) site.storage.*member = value;
  for (const auto& [member, value] : stated.facility) site.facility.*member = value;
  return site;
}

}  // namespace prequel
