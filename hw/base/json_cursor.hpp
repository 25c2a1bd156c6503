#pragma once

/// Reads prequel's own JSON files strictly: every problem of a file is reported at once, with
/// file and JSON pointer; keys that nobody asked for are errors that name the nearest known key.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hw/base/stated_spread.hpp"
#include "hw/base/units.hpp"
#include "hw/base/words.hpp"

namespace prequel {

class Cursor;

/// The numbers that a key may hold; both bounds are included unless `open_min`.
struct Range {
  double min{-std::numeric_limits<double>::max()};
  double max{std::numeric_limits<double>::max()};
  bool open_min{false};
};
inline constexpr Range kAnyNumber{};
inline constexpr Range kPositive{0.0, 1e30, true};
inline constexpr Range kNonNegative{0.0, 1e30, false};
inline constexpr Range kFraction{0.0, 1.0, false};  ///< 0 … 1

/// A text, what it says, and what readers made of it; several documents may share one.
struct JsonText;

/// One parsed JSON file and the problems found in it so far.
class Document {
 public:
  /// Parses `text`; `file` is the name used in messages. Throws InputError when it is not JSON,
  /// is nested deeper than 64 levels, or has the same key twice in an object.
  static Document parse(std::string file, std::string_view text);
  /// Returns a file's document as `parse_text` made it, without parsing it again.
  static Document of(std::string file, std::shared_ptr<const JsonText> parsed);
  /// Reads and parses a file of at most 16 MiB. Throws InputError when it cannot be read.
  static Document read(const std::string& path);
  /// Takes JSON that is already in memory.
  static Document from(std::string file, const nlohmann::json& value);

  /// This document as a JSON merge patch (RFC 7396) of another, under this one's name, without its
  /// member `key`. Made once of two texts that are shared.
  [[nodiscard]] Document over(const Document& base, const std::string& key) const;

  /// Returns what `reader` makes of the document. Where nothing was `set`, all documents of one
  /// text share what the first reader of such values made of it.
  template <class Value>
  [[nodiscard]] Value read_once(Value (*reader)(const Document&)) const {
    if (const auto known = known_value(typeid(Value))) {
      return *static_cast<const Value*>(known.get());
    }
    const auto value = std::make_shared<const Value>(reader(*this));
    keep_value(typeid(Value), value);
    return *value;
  }

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  /// Overrides one field before it is read, `dotted` is a path such as
  /// `host.launch` or `gemm.tiles.0.quality`; `value` is JSON, or else text. The field need not
  /// exist: an unknown one is found by `finish`. Problems of the field name `from`, what set it.
  void set(const std::string& dotted, const std::string& value,
           const std::string& from = "override");

  [[nodiscard]] Cursor root() const;
  [[nodiscard]] const nlohmann::json& json() const;
  [[nodiscard]] const std::string& file() const;
  /// Returns the stated spreads of the numbers read so far.
  [[nodiscard]] const std::vector<StatedSpread>& spreads() const;

  /// Adds a problem at a JSON pointer (`/gemm/tail`).
  void problem(const std::string& pointer, const std::string& message) const;
  /// To be called when everything was asked for: throws InputError with all problems of the file,
  /// unknown keys included. `origin`, `note`, `schema`, `$schema` are known.
  void finish() const;

 private:
  friend class Cursor;
  struct State;
  explicit Document(std::unique_ptr<State> state);
  [[nodiscard]] std::shared_ptr<const void> known_value(std::type_index type) const;
  void keep_value(std::type_index type, std::shared_ptr<const void> value) const;
  std::unique_ptr<State> state_;
};

/// As Document::parse, for several documents.
std::shared_ptr<const JsonText> parse_text(const std::string& file, std::string text);

/// A value inside a Document. A failed read records a problem and yields a harmless value
/// (0 or the bound next to it, "", empty), so that a reader goes on and finds the next problem.
class Cursor {
 public:
  /// The member `key`, which must be there.
  [[nodiscard]] Cursor at(std::string_view key) const;
  /// The member `key`, if it is there (and not null).
  [[nodiscard]] std::optional<Cursor> find(std::string_view key) const;
  /// The elements of an array.
  [[nodiscard]] std::vector<Cursor> items() const;
  /// The members of an object whose keys are free (all count as asked for), but `origin`/`note`.
  [[nodiscard]] std::vector<std::pair<std::string, Cursor>> members() const;

  /// Numbers, bytes and rates may be given as `{"value": …, "sd": …}`, with the relative spread;
  /// the document keeps it.
  [[nodiscard]] double number(Range range = kAnyNumber) const;
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::int64_t count() const;  ///< a whole number from 1 to 2^40
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string text() const;
  /// One of `choices`; returns its index. The nearest is named when it is none of them.
  [[nodiscard]] std::size_t choice(std::initializer_list<std::string_view> choices) const;
  [[nodiscard]] std::size_t choice(std::span<const std::string_view> choices) const;
  /// The value of an enumeration whose word this is.
  template <Worded Enum>
  [[nodiscard]] Enum word() const {
    return static_cast<Enum>(choice(std::span(kWordsOf<Enum>)));
  }
  /// A positive number of bytes, or text with a unit ("80 GiB").
  [[nodiscard]] Bytes bytes() const;
  /// A positive number in byte/s, or text with a unit ("200 Gbit/s", "25 GB/s").
  [[nodiscard]] BytesPerSecond rate() const;

  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] const nlohmann::json& json() const;
  [[nodiscard]] const std::string& pointer() const { return pointer_; }

  /// Adds a problem here: "FILE: POINTER: message".
  void problem(const std::string& message) const;

 private:
  friend class Document;
  Cursor(Document::State* state, const nlohmann::json* value, std::string pointer)
      : state_(state), value_(value), pointer_(std::move(pointer)) {}
  /// Notes that `key` of this object is known; false, with a problem, if this is no object.
  [[nodiscard]] bool ask(std::string_view key) const;
  /// The value of `{"value": …, "sd": …}`, whose spread is kept, or this one itself.
  [[nodiscard]] Cursor stated_value() const;
  /// Adds the problem "expected WHAT, got …", or completes "missing".
  void expected(std::string_view what, std::string_view hint = {}) const;

  Document::State* state_;
  const nlohmann::json* value_;  ///< null where a required key is missing: reads stay silent
  std::string pointer_;
};

}  // namespace prequel
