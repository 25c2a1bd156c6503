#include "hw/base/unit_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "hw/base/text.hpp"

namespace prequel {
namespace {

struct Amount {
  double value;
  std::string_view unit;
};

/// Splits "80 GiB" into 80 and "GiB".
std::optional<Amount> parse_amount(std::string_view text) {
  text = trimmed(text);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return Amount{value, trimmed(text.substr(static_cast<std::size_t>(end - text.data())))};
}

/// Returns the factor of a prefix: "G" 1e9, "Gi" 2^30; nothing if it is none.
std::optional<double> prefix_factor(std::string_view prefix) {
  constexpr std::string_view kPrefixes = "kMGTPE";
  if (prefix.empty()) return 1.0;
  const char letter = prefix[0] == 'K' ? 'k' : prefix[0];
  const std::size_t index = kPrefixes.find(letter);
  if (index == std::string_view::npos) return std::nullopt;
  if (prefix.size() > 1 && prefix.substr(1) != "i") return std::nullopt;
  const double step = prefix.size() == 1 ? 1000.0 : 1024.0;
  double factor = 1.0;
  for (std::size_t power = 0; power <= index; ++power) factor *= step;
  return factor;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// `amount` in `Quantity`, if it is one that can be: sizes, rates and times of computers lie within
/// these powers of ten.
template <class Quantity>
std::optional<Quantity> positive(double amount) {
  constexpr double kLeast = 1e-12, kMost = 1e24;
  if (!(amount >= kLeast && amount <= kMost)) return std::nullopt;
  return Quantity{amount};
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto amount = parse_amount(text);
  if (!amount) return std::nullopt;
  std::string_view unit = amount->unit;
  if (!remove_suffix(unit, "B")) return std::nullopt;
  const auto factor = prefix_factor(unit);
  return factor ? positive<Bytes>(amount->value * *factor) : std::nullopt;
}

std::optional<BytesPerSecond> parse_rate(std::string_view text) {
  const auto amount = parse_amount(text);
  if (!amount) return std::nullopt;
  std::string_view unit = amount->unit;
  if (!remove_suffix(unit, "/s") && !remove_suffix(unit, "ps")) return std::nullopt;
  const bool in_bits = remove_suffix(unit, "bit") || remove_suffix(unit, "b");
  if (!in_bits && !remove_suffix(unit, "B")) return std::nullopt;
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  return positive<BytesPerSecond>(amount->value * *factor / (in_bits ? 8.0 : 1.0));
}

std::optional<Seconds> parse_duration(std::string_view text) {
  // "µ" is written as U+00B5 or as U+03BC.
  static constexpr auto kUnits =
      std::to_array<std::pair<std::string_view, double>>({{"", 1.0},
                                                          {"s", 1.0},
                                                          {"ms", 1e-3},
                                                          {"us", 1e-6},
                                                          {"\u00b5s", 1e-6},
                                                          {"\u03bcs", 1e-6},
                                                          {"ns", 1e-9},
                                                          {"m", 60.0},
                                                          {"min", 60.0},
                                                          {"h", 3600.0},
                                                          {"d", 86400.0}});
  const auto amount = parse_amount(text);
  if (!amount) return std::nullopt;
  for (const auto& [unit, seconds] : kUnits) {
    if (amount->unit == unit) return positive<Seconds>(amount->value * seconds);
  }
  return std::nullopt;
}

std::string gib_text(Bytes bytes) {
  return fmt::format("{:.1f}", bytes.value / kGiB);
}

}  // namespace prequel
