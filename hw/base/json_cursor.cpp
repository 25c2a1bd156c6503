#include "hw/base/json_cursor.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_parse.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kMaxProblems = 100;
constexpr double kUnbounded = 1e30;  // as in kPositive: a limit against nonsense, not worth a word
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
constexpr std::string_view kBytesExpected = "bytes (e.g. \"80 GB\")";
constexpr std::string_view kRateExpected = "a rate (e.g. \"25 GB/s\" or \"200 Gbit/s\")";

bool is_remark(std::string_view key) {
  return key == "origin" || key == "note" || key == "schema" || key == "$schema";
}

/// `value` as a message shows it.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return printable(value.dump());
}

/// Quantities in SI units are never smaller: a byte at the fastest rate takes 1e-13 s.
constexpr double kLeastPositive = 1e-15;

/// "a number from 0 to 1"; a bound against nonsense is told only to a value beyond it.
std::string describe(const Range& range, double value) {
  const bool unbounded = range.max >= kUnbounded;
  const bool no_min = range.min <= -kUnbounded;
  if (no_min && unbounded) return "a number";
  if (no_min || (unbounded && value > range.max)) {
    return fmt::format("a number of at most {}", range.max);
  }
  if (range.open_min && range.min == 0 && value > 0 && value < kLeastPositive) {
    return fmt::format("a number of at least {}", kLeastPositive);
  }
  if (unbounded) {
    return fmt::format("a number {} {}", range.open_min ? "above" : "of at least", range.min);
  }
  return range.open_min ? fmt::format("a number above {} and at most {}", range.min, range.max)
                        : fmt::format("a number from {} to {}", range.min, range.max);
}

bool holds(const Range& range, double value) {
  if (range.open_min && range.min == 0 && value > 0 && value < kLeastPositive) return false;
  return value <= range.max && (range.open_min ? value > range.min : value >= range.min);
}

/// `"a", "b" or "c"`
std::string alternatives(const std::vector<std::string>& choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 < choices.size() ? ", " : " or ";
    out += in_quotes(choices[i]);
  }
  return out;
}

std::string unknown_key(std::string_view key, const std::vector<std::string>& known) {
  if (const auto meant = nearest(key, known)) {
    return "unknown key; did you mean " + in_quotes(*meant) + "?";
  }
  return known.empty() ? "unknown key" : "unknown key; expected " + alternatives(known);
}

}  // namespace

struct JsonText {
  JsonText(std::string said, Json parsed) : text(std::move(said)), value(std::move(parsed)) {}

  std::string text;  ///< empty if it never was text
  Json value;

  mutable std::mutex mutex;  ///< of what follows
  mutable std::map<std::type_index, std::shared_ptr<const void>> read;
  /// This text over others, which stay alive so that none takes another's place.
  mutable std::map<std::shared_ptr<const JsonText>, std::shared_ptr<const JsonText>> patched;
};

struct Document::State {
  struct Problem {
    std::string pointer;
    std::string message;
    bool operator==(const Problem&) const = default;
  };
  /// The keys of one object that readers asked for.
  struct Object {
    std::string pointer;
    std::vector<std::string> asked;
    bool all_asked{false};
  };

  std::string file;
  std::shared_ptr<const JsonText> parsed;
  std::unique_ptr<Json> edited;  ///< what `set` made of it; empty: nothing yet
  /// Pointers that `set` changed or made, each with what asked for it.
  std::vector<std::pair<std::string, std::string>> overrides;
  std::unordered_map<const Json*, Object> objects;  ///< by value: pointers take long to compare
  std::vector<Problem> problems;
  std::vector<StatedSpread> spreads;

  void add(std::string pointer, std::string message) {
    Problem problem{std::move(pointer), std::move(message)};
    if (problems.size() > kMaxProblems) return;
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
      problems.push_back(std::move(problem));
    }
  }

  /// A key that is missing is noticed before anyone says what it should have held.
  void add_missing(const std::string& pointer) {
    const bool known = std::any_of(problems.begin(), problems.end(),
                                   [&](const Problem& old) { return old.pointer == pointer; });
    if (!known) add(pointer, "missing");
  }
  void explain_missing(const std::string& pointer, std::string_view expected) {
    const auto found = std::find(problems.begin(), problems.end(), Problem{pointer, "missing"});
    if (found != problems.end()) found->message += fmt::format("; expected {}", expected);
  }

  Object& object(const Json* value, const std::string& pointer) {
    return objects.try_emplace(value, Object{pointer, {}}).first->second;
  }

  void find_unknown_keys() {
    const auto is_known = [](const Object& object, const std::string& key) {
      return object.all_asked || is_remark(key) ||
             std::find(object.asked.begin(), object.asked.end(), key) != object.asked.end();
    };
    const auto is_good = [&](const Json& value, const Object& object) {
      const auto members = value.items();
      return std::all_of(members.begin(), members.end(),
                         [&](const auto& member) { return is_known(object, member.key()); });
    };
    std::map<std::string_view, std::pair<const Json*, const Object*>> wrong;  // by pointer
    for (const auto& [value, object] : objects) {
      if (!is_good(*value, object)) wrong[object.pointer] = {value, &object};
    }
    for (const auto& [pointer, its] : wrong) {
      const auto& [value, object] = its;
      for (const auto& member : value->items()) {
        if (is_known(*object, member.key())) continue;
        add(member_pointer(object->pointer, member.key()),
            unknown_key(member.key(), object->asked));
        if (problems.size() > kMaxProblems) return;
      }
    }
  }

  /// " (from --set)" where the pointer lies in a field that was set.
  [[nodiscard]] std::string override_note(std::string_view pointer) const {
    for (const auto& [changed, from] : overrides) {
      if (pointer.starts_with(changed) &&
          (pointer.size() == changed.size() || pointer[changed.size()] == '/')) {
        return " (from " + from + ")";
      }
    }
    return {};
  }

  [[nodiscard]] std::string line(const Problem& problem) const {
    return fmt::format("{}: {}{}{}{}", printable(file, 4096), printable(problem.pointer, 200),
                       problem.pointer.empty() ? "" : ": ", problem.message,
                       override_note(problem.pointer));
  }

  /// The problems, one a line, in the order of the document.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::size_t> ranks(problems.size());
    if (!parsed->text.empty()) {
      std::vector<std::string> pointers;
      for (const Problem& problem : problems) pointers.push_back(problem.pointer);
      ranks = document_order(parsed->text, pointers);
    }
    std::vector<std::size_t> order(problems.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
    std::vector<std::string> out;
    for (const std::size_t index : order) out.push_back(line(problems[index]));
    if (out.size() > kMaxProblems) out.back() = printable(file, 4096) + ": and more problems";
    return out;
  }
};

Document::Document(std::unique_ptr<State> state) : state_(std::move(state)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

std::shared_ptr<const JsonText> parse_text(const std::string& file, std::string text) {
  Json value = parse_json(file, text);
  return std::make_shared<const JsonText>(std::move(text), std::move(value));
}

Document Document::of(std::string file, std::shared_ptr<const JsonText> parsed) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->parsed = std::move(parsed);
  return Document(std::move(state));
}

Document Document::parse(std::string file, std::string_view text) {
  auto parsed = parse_text(file, std::string(text));
  return of(std::move(file), std::move(parsed));
}

Document Document::read(const std::string& path) {
  return parse(path, read_file(path));
}

Document Document::from(std::string file, const Json& value) {
  return of(std::move(file), std::make_shared<const JsonText>(std::string(), value));
}

Document Document::over(const Document& base, const std::string& key) const {
  const auto make = [&] {
    Json patch = json();
    patch.erase(key);
    Json whole = base.json();
    whole.merge_patch(patch);
    return std::make_shared<const JsonText>(std::string(), std::move(whole));
  };
  if (state_->edited || base.state_->edited) return of(file(), make());
  const JsonText& mine = *state_->parsed;
  const std::lock_guard lock(mine.mutex);
  auto& known = mine.patched[base.state_->parsed];
  if (!known) known = make();
  return of(file(), known);
}

std::shared_ptr<const void> Document::known_value(std::type_index type) const {
  if (state_->edited) return {};
  const JsonText& mine = *state_->parsed;
  const std::lock_guard lock(mine.mutex);
  const auto known = mine.read.find(type);
  return known == mine.read.end() ? nullptr : known->second;
}

void Document::keep_value(std::type_index type, std::shared_ptr<const void> value) const {
  if (state_->edited) return;
  const JsonText& mine = *state_->parsed;
  const std::lock_guard lock(mine.mutex);
  mine.read.emplace(type, std::move(value));
}

void Document::set(const std::string& dotted, const std::string& value, const std::string& from) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{} {}: {}", from, printable(dotted, 200), why));
  };
  if (!state_->edited) state_->edited = std::make_unique<Json>(state_->parsed->value);
  Json* target = state_->edited.get();
  std::string pointer;
  std::optional<std::string> made;  // the outermost value that was not there
  for (std::size_t begin = 0; begin <= dotted.size();) {
    const std::size_t end = std::min(dotted.find('.', begin), dotted.size());
    const std::string key = dotted.substr(begin, end - begin);
    begin = end + 1;
    if (key.empty()) refuse("expected a path such as host.launch");
    pointer = member_pointer(pointer, key);
    if (target->is_array()) {
      std::size_t index = 0;
      const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc{} || stop != key.data() + key.size() || index >= target->size()) {
        refuse(fmt::format("no element {} in an array of {}", in_quotes(key), target->size()));
      }
      target = &(*target)[index];
    } else if (target->is_object() || target->is_null()) {
      if (!made && !target->contains(key)) made = pointer;
      target = &(*target)[key];
    } else {
      refuse(fmt::format("{} has no members", shown(*target)));
    }
  }
  try {
    *target = parse_json(dotted, value);
  } catch (const InputError&) {
    *target = value;
  }
  state_->overrides.emplace_back(made.value_or(pointer), from);
}

Cursor Document::root() const {
  return {state_.get(), &json(), ""};
}
const Json& Document::json() const {
  return state_->edited ? *state_->edited : state_->parsed->value;
}
const std::string& Document::file() const {
  return state_->file;
}

const std::vector<StatedSpread>& Document::spreads() const {
  return state_->spreads;
}

void Document::problem(const std::string& pointer, const std::string& message) const {
  state_->add(pointer, message);
}

void Document::finish() const {
  state_->find_unknown_keys();
  if (!state_->problems.empty()) throw InputError(state_->lines());
}

Cursor Cursor::at(std::string_view key) const {
  const std::string pointer = member_pointer(pointer_, key);
  if (!ask(key)) return {state_, nullptr, pointer};
  const auto member = value_->find(key);
  if (member != value_->end()) return {state_, &*member, pointer};
  state_->add_missing(pointer);
  return {state_, nullptr, pointer};
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  if (!ask(key)) return std::nullopt;
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return Cursor(state_, &*member, member_pointer(pointer_, key));
}

std::vector<Cursor> Cursor::items() const {
  if (!is_array()) {
    expected("an array");
    return {};
  }
  std::vector<Cursor> out;
  for (const Json& item : *value_) {
    out.push_back({state_, &item, fmt::format("{}/{}", pointer_, out.size())});
  }
  return out;
}

std::vector<std::pair<std::string, Cursor>> Cursor::members() const {
  if (!is_object()) {
    expected("an object");
    return {};
  }
  state_->object(value_, pointer_).all_asked = true;
  std::vector<std::pair<std::string, Cursor>> out;
  for (const auto& member : value_->items()) {
    if (is_remark(member.key())) continue;
    out.emplace_back(member.key(),
                     Cursor(state_, &member.value(), member_pointer(pointer_, member.key())));
  }
  return out;
}

double Cursor::number(Range range) const {
  const Cursor stated = stated_value();
  const bool is_number = stated.value_ != nullptr && stated.value_->is_number();
  const double value = is_number ? stated.value_->get<double>() : 0.0;
  if (is_number && holds(range, value)) return value;
  stated.expected(describe(range, value));
  return 0.0;
}

Cursor Cursor::stated_value() const {
  if (!is_object() || !value_->contains("value")) return *this;
  const Cursor sd = at("sd");
  const bool is_number = sd.value_ != nullptr && sd.value_->is_number();
  const double spread = is_number ? sd.value_->get<double>() : 0.0;
  if (holds(kPositive, spread)) {
    std::string path = pointer_.substr(1);
    std::ranges::replace(path, '/', '.');
    state_->spreads.push_back({std::move(path), spread});
  } else {
    sd.expected(describe(kPositive, spread));
  }
  return at("value");
}

std::int64_t Cursor::integer(std::int64_t min, std::int64_t max) const {
  // Beyond 2^53 a double no longer tells whole numbers apart.
  constexpr double kExact = 9007199254740992.0;
  std::optional<std::int64_t> value;
  bool too_large = false;
  if (value_ != nullptr && value_->is_number()) {
    const auto real = value_->get<double>();
    too_large = real > static_cast<double>(max);
    if (value_->is_number_float()) {
      if (std::abs(real) <= kExact && std::trunc(real) == real) {
        value = static_cast<std::int64_t>(real);
      }
    } else if (!value_->is_number_unsigned() ||
               value_->get<std::uint64_t>() <=
                   static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      value = value_->get<std::int64_t>();
    }
  }
  if (value && *value >= min && *value <= max) return *value;
  if (max >= kMaxCount && !too_large) {
    expected(fmt::format("a whole number of at least {}", min));
  } else {
    expected(fmt::format("a whole number from {} to {}", min, max));
  }
  return std::clamp<std::int64_t>(0, min, max);
}

std::int64_t Cursor::count() const {
  return integer(1, kMaxCount);
}

bool Cursor::boolean() const {
  if (value_ != nullptr && value_->is_boolean()) return value_->get<bool>();
  expected("true or false");
  return false;
}

std::string Cursor::text() const {
  if (is_text()) return value_->get<std::string>();
  expected("text");
  return {};
}

std::size_t Cursor::choice(std::initializer_list<std::string_view> choices) const {
  return choice(std::span(choices.begin(), choices.size()));
}

std::size_t Cursor::choice(std::span<const std::string_view> choices) const {
  const std::vector<std::string> names(choices.begin(), choices.end());
  if (!is_text()) {
    expected(alternatives(names));
    return 0;
  }
  const auto& name = value_->get_ref<const std::string&>();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  expected(alternatives(names), did_you_mean(name, names));
  return 0;
}

Bytes Cursor::bytes() const {
  const Cursor stated = stated_value();
  if (stated.value_ != nullptr && stated.value_->is_number()) return {stated.number(kPositive)};
  const auto amount =
      stated.is_text() ? parse_bytes(stated.value_->get_ref<const std::string&>()) : std::nullopt;
  if (!amount || !holds(kPositive, amount->value)) stated.expected(kBytesExpected);
  return amount.value_or(Bytes{});
}

BytesPerSecond Cursor::rate() const {
  const Cursor stated = stated_value();
  if (stated.value_ != nullptr && stated.value_->is_number()) return {stated.number(kPositive)};
  const auto amount =
      stated.is_text() ? parse_rate(stated.value_->get_ref<const std::string&>()) : std::nullopt;
  if (!amount || !holds(kPositive, amount->value)) stated.expected(kRateExpected);
  return amount.value_or(BytesPerSecond{});
}

bool Cursor::is_object() const {
  return value_ != nullptr && value_->is_object();
}
bool Cursor::is_array() const {
  return value_ != nullptr && value_->is_array();
}
bool Cursor::is_text() const {
  return value_ != nullptr && value_->is_string();
}

const Json& Cursor::json() const {
  static const Json kNothing;
  return value_ != nullptr ? *value_ : kNothing;
}

void Cursor::problem(const std::string& message) const {
  state_->add(pointer_, message);
}

bool Cursor::ask(std::string_view key) const {
  if (!is_object()) {
    expected("an object");
    return false;
  }
  auto& asked = state_->object(value_, pointer_).asked;
  if (std::find(asked.begin(), asked.end(), key) == asked.end()) asked.emplace_back(key);
  return true;
}

void Cursor::expected(std::string_view what, std::string_view hint) const {
  if (value_ == nullptr) {
    state_->explain_missing(pointer_, what);
  } else {
    problem(fmt::format("expected {}, got {}{}", what, shown(*value_), hint));
  }
}

}  // namespace prequel
