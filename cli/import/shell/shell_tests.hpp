#pragma once

/// Values of the tests in a shell script, as far as they are known without running it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prequel {

/// Nothing where only a run would tell.
using Truth = std::optional<bool>;

Truth negated(Truth value);
Truth both(Truth a, Truth b);
Truth either(Truth a, Truth b);

/// `[ 7B = "7B" ]`, `[[ $N -gt 4 ]]`, `test -z x`, `false`, all also behind a `!`.
bool is_test(const std::vector<std::string>& words);
/// Returns the value of a test: of two known values it is judged.
Truth test_value(std::vector<std::string> words);
/// Returns the words that a test compares: the unknown one, and the other.
std::pair<std::string, std::string> compared_words(const std::vector<std::string>& test);
/// Tests whether a word fits a pattern of `case`.
Truth fits_case(const std::string& word, const std::string& pattern);

}  // namespace prequel
