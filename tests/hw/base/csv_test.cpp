#include "hw/base/csv.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <streambuf>

#include "tests/error_text.hpp"

using namespace prequel;
using Cells = std::vector<std::string>;

namespace {

/// All rows of a table.
std::vector<CsvRow> rows(const std::string& text) {
  std::istringstream in(text);
  CsvReader reader(in, "t.csv");
  std::vector<CsvRow> out;
  while (auto row = reader.next()) out.push_back(*row);
  return out;
}

std::string problem(const std::string& text) {
  return error_text([&] { rows(text); });
}

/// A stream of the same letter without end.
class Endless : public std::streambuf {
 public:
  explicit Endless(char letter) : block_(4096, letter) {}
  std::size_t blocks{0};

 private:
  int_type underflow() override {
    ++blocks;
    setg(block_.data(), block_.data(), block_.data() + block_.size());
    return traits_type::to_int_type(block_[0]);
  }
  std::string block_;
};

}  // namespace

TEST_CASE("a table has named columns and rows of cells") {
  std::istringstream in("id, gpus\na,8\n\"b\",16\n");
  CsvReader reader(in, "t.csv");
  CHECK(reader.columns() == Cells{"id", "gpus"});
  CHECK(reader.column("gpus") == 1);
  CHECK_FALSE(reader.column("nodes"));
  CHECK(reader.next()->cells == Cells{"a", "8"});
  CHECK(reader.next()->cells == Cells{"b", "16"});
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.next());
}

TEST_CASE("a quoted cell may hold commas, quotes and line ends") {
  const auto table = rows("a,b\n\"x,\"\"y\"\"\",\"1\r\n2\"\nz,3\n");
  CHECK(table[0].cells == Cells{"x,\"y\"", "1\r\n2"});
  CHECK(table[0].line == 2);
  CHECK(table[1].line == 4);
}

TEST_CASE("lines end in LF, CRLF or CR, and the last one need not end") {
  for (const char* text : {"a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4\r"}) {
    CAPTURE(text);
    const auto table = rows(text);
    REQUIRE(table.size() == 2);
    CHECK(table[1].cells == Cells{"3", "4"});
    CHECK(table[1].line == 3);
  }
}

TEST_CASE("a byte-order mark is no part of the first column's name") {
  std::istringstream plain("\xEF\xBB\xBFid,x\n");
  CHECK(CsvReader(plain, "t.csv").columns() == Cells{"id", "x"});
  std::istringstream quoted("\xEF\xBB\xBF\"id,1\",x\n");
  CHECK(CsvReader(quoted, "t.csv").columns() == Cells{"id,1", "x"});
}

TEST_CASE("blank lines are left out, empty cells are not") {
  const auto table = rows("\n  \na,b\n\n \n,\n1,\n");
  REQUIRE(table.size() == 2);
  CHECK(table[0].cells == Cells{"", ""});
  CHECK(table[1].cells == Cells{"1", ""});
  CHECK(table[1].line == 7);
}

TEST_CASE("rows keep the number of cells that they have") {
  const auto table = rows("a,b\n1\n1,2,3\n");
  CHECK(table[0].cells.size() == 1);
  CHECK(table[1].cells.size() == 3);
}

TEST_CASE("a quote inside a plain cell is a letter") {
  CHECK(rows("a\n5\" pipe\n")[0].cells == Cells{"5\" pipe"});
}

TEST_CASE("a broken table is refused with file and line") {
  CHECK(problem("") == "t.csv: empty; expected a header line");
  CHECK(problem("\n \n") == "t.csv: empty; expected a header line");
  CHECK(problem("a,,c\n") == "t.csv: line 1: column 2 has no name");
  CHECK(problem("a,b, a\n") == "t.csv: line 1: column \"a\" is there twice");
  CHECK(problem("a\n1\n\"2\n3\n") == "t.csv: line 3: a quote is opened and never closed");
  CHECK(problem("a\n\"1\"2\n") == "t.csv: line 2: text after a closing quote; expected a comma");
  CHECK(problem(std::string("a\n1\0\n", 5)) == "t.csv: line 2: a NUL byte; expected UTF-8 text");
}

TEST_CASE("a million columns are refused") {
  CHECK(problem(std::string(1'000'000, ',')) == "t.csv: line 1: more than 4096 columns");
  CHECK(problem("a\n" + std::string(1'000'000, ',')) == "t.csv: line 2: more than 4096 columns");
}

TEST_CASE("a line without end is refused after 1 MiB") {
  Endless endless('x');
  std::istream in(&endless);
  CHECK(error_text([&] { CsvReader(in, "t.csv"); }) == "t.csv: line 1: a line of more than 1 MiB");
  CHECK(endless.blocks <= 257);
}

TEST_CASE("a quoted cell without end is refused after 1 MiB") {
  CHECK(problem("a\n\"" + std::string(2'000'000, '\n')) ==
        "t.csv: line 2: a line of more than 1 MiB");
}

TEST_CASE("a directory is refused, as it cannot be read") {
  std::ifstream in("/");
  CHECK(error_text([&] { CsvReader(in, "/"); }) == "/: cannot be read");
}

TEST_CASE("any cells that are written quoted are read back") {
  std::mt19937 random(7);
  const std::string letters = "ab,\"\n\r ;1";
  for (int round = 0; round < 500; ++round) {
    Cells cells{"x"};  // so that no row is blank
    for (std::size_t i = 0; i < 3; ++i) {
      std::string& cell = cells.emplace_back();
      for (auto length = random() % 6; length > 0; --length) {
        cell += letters[random() % letters.size()];
      }
    }
    std::string table_text = "a,b,c,d\n";
    for (const std::string& cell : cells) table_text += csv_quoted(cell) + ',';
    table_text.back() = '\n';
    const auto table = rows(table_text + "last");
    REQUIRE(table.size() == 2);
    CHECK(table[0].cells == cells);
  }
}

TEST_CASE("random bytes are a table or an error, never a crash") {
  std::mt19937 random(11);
  const std::string letters = "a,\"\n\r\xEF\xBB\xBF";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto length = random() % 40; length > 0; --length) {
      text += letters[random() % letters.size()];
    }
    CHECK_FALSE(problem(text).empty());
  }
}

TEST_CASE("only what must be quoted is quoted") {
  CHECK(csv_quoted("plain text") == "plain text");
  CHECK(csv_quoted("").empty());
  CHECK(csv_quoted("a,b") == "\"a,b\"");
  CHECK(csv_quoted("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(csv_quoted(" a") == "\" a\"");
}

TEST_CASE("a number is the whole cell") {
  CHECK(parse_number(" 1.5 ") == 1.5);
  CHECK(parse_number("-2e3") == -2000.0);
  CHECK(parse_number("+7") == 7.0);
  CHECK(parse_integer("42") == 42);
  CHECK(parse_integer(" -42 ") == -42);
  for (const char* text :
       {"", " ", "1.5x", "nan", "inf", "-inf", "1e999", "1,5", "0x10", "+-1", "++1", "1 2", "+"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text));
    CHECK_FALSE(parse_integer(text));
  }
  CHECK_FALSE(parse_integer("1.0"));
  CHECK_FALSE(parse_integer("9223372036854775808"));
}
