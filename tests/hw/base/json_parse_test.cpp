#include "hw/base/json_parse.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/error_text.hpp"

using namespace prequel;
using nlohmann::json;

namespace {

std::string json_problem(const std::string& text) {
  return error_text([&] { parse_json("x.json", text); });
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// A random value with at most `depth` levels.
json random_json(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 7 : 5)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<int>(random() % 1000) - 500;
    case 3: return static_cast<double>(random() % 1000) / 8.0;
    case 4: return "te/xt~" + std::to_string(random() % 10);
    case 5: {
      json out = json::array();
      for (auto i = random() % 4; i > 0; --i) out.push_back(random_json(random, depth - 1));
      return out;
    }
    default: {
      json out = json::object();
      for (auto i = random() % 4; i > 0; --i) {
        out["k/~" + std::to_string(i)] = random_json(random, depth - 1);
      }
      return out;
    }
  }
}

}  // namespace

TEST_CASE("what is written is parsed back") {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const json value = random_json(random, 5);
    CHECK(parse_json("x.json", value.dump(round % 2 == 0 ? 2 : -1)) == value);
  }
}

TEST_CASE("a byte-order mark is skipped") {
  CHECK(parse_json("x.json", "\xEF\xBB\xBF[1]")[0] == 1);
}

TEST_CASE("JSON text cut anywhere is refused") {
  const std::string text = R"({"a": [1, 2.5, "x"], "b": {"c": true}})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK(json_problem(text.substr(0, length)).starts_with("x.json: line 1, column "));
  }
  CHECK(json_problem(text) == "no error");
}

TEST_CASE("a syntax error names file, line and column") {
  CHECK(json_problem("") ==
        "x.json: line 1, column 1: not JSON: unexpected end of input; "
        "expected '[', '{', or a literal");
  CHECK(json_problem("{\n  \"a\": 1,\n}") ==
        "x.json: line 3, column 1: not JSON: unexpected '}'; expected string literal");
  CHECK(json_problem("[1]x") ==
        "x.json: line 1, column 4: not JSON: invalid literal; last read: '1]x'; "
        "expected end of input");
}

TEST_CASE("NaN, Infinity and comments are not JSON") {
  for (const char* text :
       {"NaN", "[nan]", "Infinity", "[-Infinity]", "// c\n1", "{'a': 1}", "[1,]"}) {
    CAPTURE(text);
    CHECK(json_problem(text).starts_with("x.json: line 1, column "));
  }
}

TEST_CASE("a number beyond double precision's range is refused") {
  CHECK(json_problem("[1, 1e999]") == "x.json: line 1, column 9: number out of range: 1e999");
  CHECK(json_problem("1" + std::string(1000, '0')) ==
        "x.json: line 1, column 1001: number out of range: 1" + std::string(59, '0') + "…");
  CHECK(parse_json("x.json", "1e300") == 1e300);
}

TEST_CASE("invalid UTF-8 is refused and shown as numbers") {
  CHECK(json_problem("\"\xff\"") ==
        "x.json: line 1, column 2: not JSON: invalid string: ill-formed UTF-8 byte; "
        "last read: '\"\\xff'");
}

TEST_CASE("all repeated keys are named") {
  CHECK(json_problem(R"({"a": 1, "b": {"c": 1, "c": 2}, "a": 3})") ==
        "x.json: /b/c: the same key twice\nx.json: /a: the same key twice");
  CHECK(json_problem(R"([{"a": 1}, {"a": 1}])") == "no error");
}

TEST_CASE("64 levels are parsed, 65 are refused") {
  CHECK(json_problem(repeated("[", 64) + repeated("]", 64)) == "no error");
  CHECK(json_problem(repeated("[", 65) + repeated("]", 65)) ==
        "x.json: nested deeper than 64 levels");
  CHECK(json_problem(repeated("{\"a\":", 65) + "1" + repeated("}", 65)) ==
        "x.json: nested deeper than 64 levels");
}

TEST_CASE("random text is a value or an error, never a crash") {
  std::mt19937 random(5);
  const std::string letters = "{}[]\",:\\u0e-1.tfn \n\xff";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto length = random() % 30; length > 0; --length) {
      text += letters[random() % letters.size()];
    }
    CHECK_FALSE(json_problem(text).empty());
  }
}

TEST_CASE("a million open brackets are refused") {
  CHECK(json_problem(repeated("[", 1'000'000)) == "x.json: nested deeper than 64 levels");
  CHECK(json_problem(repeated("{\"a\":[", 1'000'000)) == "x.json: nested deeper than 64 levels");
}

TEST_CASE("pointers are ranked by their place in the text") {
  const std::string text = R"({"z": 1, "a": [0, {"k": 5}], "m/~": 2})";
  const auto order = document_order(text, {"/m~1~0", "/a/1/k", "/a", "/z", ""});
  CHECK(order == std::vector<std::size_t>{7, 6, 3, 2, 1});
}

TEST_CASE("a pointer to nothing has the rank of what is around it") {
  const std::string text = R"({"z": 1, "a": {"k": 5}})";
  CHECK(document_order(text, {"/a/none/deeper", "/none"}) == document_order(text, {"/a", ""}));
}

TEST_CASE("slashes and tildes of a key are escaped in its pointer") {
  CHECK(member_pointer("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(member_pointer("", "") == "/");
}
