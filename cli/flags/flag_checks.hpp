#pragma once

/// Checks of what flags take.

#include <cmath>
#include <string>

#include <CLI/CLI.hpp>

#include "hw/base/csv.hpp"
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
