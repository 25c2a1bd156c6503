#include "hw/base/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace prequel;

TEST_CASE("trimmed text has no blanks around it") {
  CHECK(trimmed(" \t a b\t ") == "a b");
  CHECK(trimmed(" \t ").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("printable text is what it was if a terminal can show it") {
  CHECK(printable("2.5 µs, größer, 日本, 🚀") == "2.5 µs, größer, 日本, 🚀");
}

TEST_CASE("control characters are shown as numbers") {
  CHECK(printable(std::string_view("a\nb\t\x1b[31m\0\x7f", 11)) ==
        "a\\x0ab\\x09\\x1b[31m\\x00\\x7f");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");  // U+009B starts a terminal command
}

TEST_CASE("bytes that are not UTF-8 are shown as numbers") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("a\xe2\x82") == "a\\xe2\\x82");                  // cut short
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(printable("\xe0\x80\x80") == "\\xe0\\x80\\x80");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST_CASE("long text is cut between characters") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abcdef…");
  CHECK(printable("abcdeé", 6) == "abcde…");
  CHECK(in_quotes(std::string(100, 'x'), 3) == "\"xxx…\"");
}
