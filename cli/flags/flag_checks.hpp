#pragma once

/// Checks of what flags take.

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "hw/base/csv.hpp"
#include "hw/base/spelled_count.hpp"
#include "hw/base/text.hpp"

namespace prequel {

/// A finite number above 0, which CLI11's own check does not ask for: it lets NaN pass.
inline CLI::Validator positive_amount() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto number = parse_number(text);
        return number && *number > 0 ? std::string() : in_quotes(text) + " is not a number above 0";
      },
      "");
}

/// An amount that may be spelled 15T or 300B, which becomes the plain number.
inline CLI::Validator spelled_amount() {
  return CLI::Validator(
      [](std::string& text) {
        const auto amount = spelled_count(text, Thousand::decimal);
        if (!amount || !(*amount > 0)) {
          return in_quotes(text) + " is not a number above 0, such as 300B or 15T";
        }
        if (is_spelled_count(text)) text = fmt::format("{:.17g}", *amount);
        return std::string();
      },
      "");
}

/// A finite number of at least 0; what is no number at all, the conversion refuses.
inline CLI::Validator not_negative() {
  return CLI::Validator(
      [](const std::string& text) {
        double number = 0;
        const bool refused =
            CLI::detail::lexical_cast(text, number) && !(number >= 0 && std::isfinite(number));
        return refused ? in_quotes(text) + " is not a number of at least 0" : std::string();
      },
      "");
}

/// A share of at least 0 and at most 0.99.
inline CLI::Validator share_below_one() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto number = parse_number(text);
        return number && *number >= 0 && *number <= 0.99
                   ? std::string()
                   : in_quotes(text) + " is not a share from 0 to 0.99, such as 0.1";
      },
      "");
}

/// A file to write beside the answer, which has stdout for itself.
inline CLI::Validator file_beside_answer() {
  return CLI::Validator(
      [](const std::string& path) {
        return path == "-" ? std::string("- is stdout, which carries the answer; name a file")
                           : std::string();
      },
      "");
}

}  // namespace prequel
