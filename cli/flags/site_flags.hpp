#pragma once

/// Flags that say how a site keeps its machines and how a job is run on them.

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "sim/run/reservation_question.hpp"

namespace prequel {

/// Adds a flag whose value has a unit; `parse` reads it.
template <class Quantity, class Parse>
CLI::Option* add_amount(CLI::App& command, const std::string& flag, Quantity& amount, Parse parse,
                        const char* form, const char* example, const char* help) {
  return command
      .add_option_function<std::string>(
          flag,
          [&amount, flag, parse, example](const std::string& text) {
            const auto read = parse(text);
            if (!read) {
              throw InputError(flag + " " + printable(text) +
                               ": expected a positive amount such as " + example);
            }
            amount = *read;
          },
          help)
      ->type_name(form);
}

/// Adds a flag that takes one of an enumeration's words.
template <class Enum, class Place>
CLI::Option* add_word(CLI::App& command, const char* flag, Place& place, const char* words,
                      const char* help) {
  const std::vector<std::string> known(kWordsOf<Enum>.begin(), kWordsOf<Enum>.end());
  return command
      .add_option_function<std::string>(
          flag,
          [&place, known](const std::string& text) {
            place = static_cast<Enum>(std::ranges::find(known, text) - known.begin());
          },
          help)
      ->type_name(words)
      ->check(CLI::IsMember(known).description(""));
}

/// Adds spares, saving, maturity, PUE, and what a job does without a spare or at its time limit;
/// all need `tokens`.
void add_site_flags(CLI::App& command, ReservationQuestion& question, CLI::Option* tokens);

/// The group under which help shows them.
inline constexpr const char* kReservationGroup = "Reservation";

}  // namespace prequel
