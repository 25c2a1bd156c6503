#pragma once

/// Text with units, at the edges of the program: "80 GiB", "400 Gbit/s", "2.5 us".
/// 1 GB = 1e9 bytes, 1 GiB = 2^30 bytes, 8 Gbit/s = 1 GB/s.

#include <optional>
#include <string>
#include <string_view>

#include "hw/base/units.hpp"

namespace prequel {

/// "80 GiB", "1.5 TB", "4096" (bytes); nothing if it is not a positive finite amount.
std::optional<Bytes> parse_bytes(std::string_view text);
/// "200 Gbit/s", "200 Gb/s" (bits), "25 GB/s", "25e9" (bytes); nothing if it is not a positive
/// finite rate.
std::optional<BytesPerSecond> parse_rate(std::string_view text);
/// "10m", "90 s", "1.5h", "20us", "90" (seconds); nothing if it is not a positive finite time.
std::optional<Seconds> parse_duration(std::string_view text);

/// Returns an amount in GiB.
constexpr double gib(Bytes bytes) {
  return bytes.value / kGiB;
}
/// Returns GiB with one decimal: "53.9".
std::string gib_text(Bytes bytes);

}  // namespace prequel
