#pragma once

/// Parts of C++20 that prequel uses and libc++ 13 lacks, the standard library of Debian's
/// emscripten 3.1.6: read before every source of the page's engine (cmake/PrequelWeb.cmake) and by
/// nothing else. With a later libc++ it is empty.

#include <version>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

_LIBCPP_BEGIN_NAMESPACE_STD

namespace ranges {

/// A predicate, or a comparison, of what a projection makes of the elements.
template <class Predicate, class Projection>
constexpr auto projected_by(Predicate& predicate, Projection& projection) {
  return [&predicate, &projection](auto&&... elements) -> bool {
    return std::invoke(predicate, std::invoke(projection, elements)...);
  };
}

template <class Range, class Predicate, class Projection = identity>
constexpr bool all_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::all_of(std::begin(range), std::end(range), projected_by(predicate, projection));
}
template <class Range, class Predicate, class Projection = identity>
constexpr bool any_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::any_of(std::begin(range), std::end(range), projected_by(predicate, projection));
}
template <class Range, class Predicate, class Projection = identity>
constexpr bool none_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::none_of(std::begin(range), std::end(range), projected_by(predicate, projection));
}
template <class Range, class Predicate, class Projection = identity>
constexpr auto count_if(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::count_if(std::begin(range), std::end(range), projected_by(predicate, projection));
}
template <class Range, class Value, class Projection = identity>
constexpr auto count(Range&& range, const Value& value, Projection projection = {}) {
  return std::count_if(std::begin(range), std::end(range),
                       [&](auto&& element) { return std::invoke(projection, element) == value; });
}
template <class Range, class Predicate, class Projection = identity>
constexpr auto find_if(Range&& range, Predicate predicate, Projection projection = {}) {
  return std::find_if(std::begin(range), std::end(range), projected_by(predicate, projection));
}
template <class Range, class Value, class Projection = identity>
constexpr auto find(Range&& range, const Value& value, Projection projection = {}) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](auto&& element) { return std::invoke(projection, element) == value; });
}
template <class Range, class Call, class Projection = identity>
constexpr void for_each(Range&& range, Call call, Projection projection = {}) {
  for (auto&& element : range) std::invoke(call, std::invoke(projection, element));
}
template <class Range, class Output>
constexpr void copy(Range&& range, Output output) {
  std::copy(std::begin(range), std::end(range), output);
}
template <class Range, class Output, class Predicate, class Projection = identity>
constexpr void copy_if(Range&& range, Output output, Predicate predicate,
                       Projection projection = {}) {
  std::copy_if(std::begin(range), std::end(range), output, projected_by(predicate, projection));
}
template <class Range, class Output>
constexpr void move(Range&& range, Output output) {
  std::move(std::begin(range), std::end(range), output);
}
template <class Range, class Output, class Change>
constexpr void transform(Range&& range, Output output, Change change) {
  std::transform(std::begin(range), std::end(range), output, std::move(change));
}
template <class Range, class Value>
constexpr void fill(Range&& range, const Value& value) {
  std::fill(std::begin(range), std::end(range), value);
}
template <class Range, class Value>
constexpr void replace(Range&& range, const Value& old_value, const Value& new_value) {
  std::replace(std::begin(range), std::end(range), old_value, new_value);
}
template <class Range, class Predicate, class Value>
constexpr void replace_if(Range&& range, Predicate predicate, const Value& value) {
  std::replace_if(std::begin(range), std::end(range), predicate, value);
}
template <class Range>
constexpr void reverse(Range&& range) {
  std::reverse(std::begin(range), std::end(range));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr void sort(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
void stable_sort(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  std::stable_sort(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr void make_heap(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  std::make_heap(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr void push_heap(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  std::push_heap(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr void pop_heap(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  std::pop_heap(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr auto max_element(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  return std::max_element(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr auto min_element(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  return std::min_element(std::begin(range), std::end(range), projected_by(comparison, projection));
}
template <class Range, class Comparison = less, class Projection = identity>
constexpr auto max(Range&& range, Comparison comparison = {}, Projection projection = {}) {
  return *ranges::max_element(range, comparison, projection);
}
template <class Range, class Value, class Comparison = less, class Projection = identity>
constexpr auto lower_bound(Range&& range, const Value& value, Comparison comparison = {},
                           Projection projection = {}) {
  return std::lower_bound(
      std::begin(range), std::end(range), value, [&](auto&& element, const Value& sought) -> bool {
        return std::invoke(comparison, std::invoke(projection, element), sought);
      });
}
template <class Range, class Value>
constexpr auto upper_bound(Range&& range, const Value& value) {
  return std::upper_bound(std::begin(range), std::end(range), value);
}
template <class Range, class Value>
constexpr bool binary_search(Range&& range, const Value& value) {
  return std::binary_search(std::begin(range), std::end(range), value);
}

template <class Iterator>
struct Part {
  Iterator first, last;
  Iterator begin() const { return first; }
  Iterator end() const { return last; }
};
template <class Range, class Predicate>
auto stable_partition(Range&& range, Predicate predicate) {
  const auto middle = std::stable_partition(std::begin(range), std::end(range), predicate);
  return Part<decltype(std::begin(range))>{middle, std::end(range)};
}

}  // namespace ranges

/// The longest beginning that is a decimal number, as `std::from_chars` takes it: no blanks, no
/// "+", no hexadecimal digits. strtod of musl rounds correctly, as from_chars of libstdc++ does.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto skip_digits = [&](const char* at) { return std::find_if_not(at, last, is_digit); };
  const auto word = [&](const char* at, string_view name) {
    const bool same =
        last - at >= static_cast<ptrdiff_t>(name.size()) &&
        std::equal(name.begin(), name.end(), at, [](char a, char b) { return a == (b | 0x20); });
    return same ? at + name.size() : at;
  };
  const char* begin = first != last && *first == '-' ? first + 1 : first;
  const char* end = skip_digits(begin);
  ptrdiff_t digits = end - begin;
  if (end != last && *end == '.') {
    const char* fraction = skip_digits(end + 1);
    digits += fraction - end - 1;
    if (digits > 0) end = fraction;
  }
  if (digits == 0) {
    end = word(begin, "nan");
    if (end == begin) end = word(begin, "infinity");
    if (end == begin) end = word(begin, "inf");
    if (end == begin) return {first, errc::invalid_argument};
  } else if (end != last && (*end | 0x20) == 'e') {
    const char* exponent = end + 1;
    if (exponent != last && (*exponent == '+' || *exponent == '-')) ++exponent;
    const char* rest = skip_digits(exponent);
    if (rest != exponent) end = rest;
  }
  const double read = strtod(string(first, end).c_str(), nullptr);
  const bool is_out = digits > 0 && (read - read != 0);
  if (is_out) return {end, errc::result_out_of_range};
  value = read;
  return {end, errc()};
}

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class Value, size_t Size>
constexpr auto operator<=>(const array<Value, Size>& a, const array<Value, Size>& b) {
  for (size_t i = 0; i < Size; ++i) {
    if (const auto order = a[i] <=> b[i]; order != 0) return order;
  }
  return decltype(a[0] <=> b[0])::equivalent;
}

template <class Value, class Allocator>
constexpr auto operator<=>(const vector<Value, Allocator>& a, const vector<Value, Allocator>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const auto order = a[i] <=> b[i]; order != 0) return order;
  }
  return decltype(a[0] <=> b[0])(a.size() <=> b.size());
}

template <class Letter, class Traits, class Allocator>
strong_ordering operator<=>(const basic_string<Letter, Traits, Allocator>& a,
                            const basic_string<Letter, Traits, Allocator>& b) {
  return a.compare(b) <=> 0;
}

_LIBCPP_END_NAMESPACE_STD

#endif
