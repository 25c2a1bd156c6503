#pragma once

/// The words by which files, flags and tables name the values of an enumeration.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace prequel {

/// In the order of the enumerators, which count from 0. Each enumeration that has words specialises
/// it, next to its own definition.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kWordsOf{};

/// An enumeration that has words.
template <class Enum>
concept Worded = std::is_enum_v<Enum> &&(kWordsOf<Enum>.size() > 0);

template <Worded Enum>
constexpr std::string_view name(Enum value) {
  return kWordsOf<Enum>[static_cast<std::size_t>(value)];
}

/// Whose name `word` is; nothing where it is none's.
template <Worded Enum>
constexpr std::optional<Enum> named(std::string_view word) {
  const auto found = std::ranges::find(kWordsOf<Enum>, word);
  if (found == kWordsOf<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(found - kWordsOf<Enum>.begin());
}

/// Some of the values of an enumeration.
template <Worded Enum>
class WordSet {
 public:
  constexpr WordSet() = default;
  constexpr WordSet(std::initializer_list<Enum> values) {
    for (const Enum value : values) add(value);
  }

  static constexpr WordSet all() {
    WordSet set;
    set.bits_ = (std::uint32_t{1} << kWordsOf<Enum>.size()) - 1;
    return set;
  }

  constexpr void add(Enum value) { bits_ |= bit(value); }
  constexpr void remove(Enum value) { bits_ &= ~bit(value); }
  [[nodiscard]] constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

  constexpr auto operator<=>(const WordSet&) const = default;

 private:
  static_assert(kWordsOf<Enum>.size() < 32);
  static constexpr std::uint32_t bit(Enum value) {
    return std::uint32_t{1} << static_cast<unsigned>(value);
  }

  std::uint32_t bits_{};
};

/// The set that texts call `none`, and what they call the empty one where that is another: of some
/// sets, nothing said is not nothing done.
template <Worded Enum>
inline constexpr WordSet<Enum> kNoneOf{};
template <Worded Enum>
inline constexpr std::string_view kEmptyWord = "none";

/// Every value, in the order of the enumerators.
template <Worded Enum>
constexpr auto all_of() {
  std::array<Enum, kWordsOf<Enum>.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Enum>(i);
  return values;
}

}  // namespace prequel
