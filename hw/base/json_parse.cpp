#include "hw/base/json_parse.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxRepeatedKeys = 100;

/// Builds a value from the parser's events; calls `visit` with the JSON pointer of each value
/// when it begins, in the order of the text.
class Builder final : public json::json_sax_t {
 public:
  using Visit = std::function<void(const std::string&)>;
  Builder(std::string file, std::string_view text, Visit visit = {})
      : file_(std::move(file)), text_(text), visit_(std::move(visit)) {}

  json build() {
    const bool complete = json::sax_parse(text_, this);
    if (!complete || !problems_.empty()) throw InputError(std::move(problems_));
    return std::move(root_);
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    const Open& object = open_.back();
    path_ = member_pointer(std::string_view(path_).substr(0, object.path_length), key);
    const auto [member, is_new] = object.value->get_ref<json::object_t&>().emplace(key, nullptr);
    if (!is_new) {
      problems_.push_back(
          fmt::format("{}: {}: the same key twice", printable(file_, 4096), printable(path_, 200)));
    }
    member_ = &member->second;
    return problems_.size() < kMaxRepeatedKeys;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const std::string_view read = text_.substr(0, position > 0 ? position - 1 : 0);
    const auto line = std::count(read.begin(), read.end(), '\n') + 1;
    const std::size_t column = read.size() - (read.rfind('\n') + 1) + 1;  // npos + 1 is 0
    problems_.push_back(fmt::format("{}: line {}, column {}: {}", printable(file_, 4096), line,
                                    column, syntax_problem(token, error)));
    return false;
  }

 private:
  /// An object or array that is not closed yet.
  struct Open {
    json* value;
    std::size_t path_length;
  };

  static std::string syntax_problem(const std::string& token,
                                    const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) return "number out of range: " + printable(token);
    // "[json.exception…] parse error at line 1, column 2: syntax error while parsing value - what"
    const std::string_view all = error.what();
    const std::size_t dash = all.find(" - ");
    return "not JSON: " +
           printable(dash == std::string_view::npos ? all : all.substr(dash + 3), 160);
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    const auto [parent, path_length] = open_.back();
    if (parent->is_object()) {
      *member_ = std::move(value);
      return member_;
    }
    path_.resize(path_length);
    path_ += '/' + std::to_string(parent->size());
    parent->push_back(std::move(value));
    return &parent->back();
  }

  bool add(json value) {
    place(std::move(value));
    if (visit_) visit_(path_);
    return true;
  }

  bool open(json value) {
    if (open_.size() == kMaxDepth) {
      problems_.push_back(
          fmt::format("{}: nested deeper than {} levels", printable(file_, 4096), kMaxDepth));
      return false;
    }
    json* const placed = place(std::move(value));
    if (visit_) visit_(path_);
    open_.push_back({placed, path_.size()});
    return true;
  }

  bool close() {
    path_.resize(open_.back().path_length);
    open_.pop_back();
    return true;
  }

  std::string file_;
  std::string_view text_;
  Visit visit_;
  json root_;
  std::vector<Open> open_;
  json* member_{nullptr};  ///< the member that the next value belongs to
  std::string path_;
  std::vector<std::string> problems_;
};

}  // namespace

json parse_json(const std::string& file, std::string_view text) {
  return Builder(file, text).build();
}

std::vector<std::size_t> document_order(std::string_view text,
                                        const std::vector<std::string>& pointers) {
  const auto parent = [](const std::string& pointer) {
    return pointer.substr(0, pointer.rfind('/'));
  };
  constexpr std::size_t kAbsent = 0;
  std::map<std::string, std::size_t> ranks{{"", kAbsent}};
  for (std::string pointer : pointers) {
    for (; !pointer.empty(); pointer = parent(pointer)) ranks.emplace(pointer, kAbsent);
  }
  std::size_t count = kAbsent;
  Builder("", text, [&](const std::string& pointer) {
    ++count;
    if (const auto found = ranks.find(pointer); found != ranks.end()) found->second = count;
  }).build();

  std::vector<std::size_t> order;
  for (std::string pointer : pointers) {
    while (!pointer.empty() && ranks.at(pointer) == kAbsent) pointer = parent(pointer);
    order.push_back(ranks.at(pointer));
  }
  return order;
}

std::string member_pointer(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (const char letter : key) {
    if (letter == '~') {
      out += "~0";
    } else if (letter == '/') {
      out += "~1";
    } else {
      out += letter;
    }
  }
  return out;
}

}  // namespace prequel
