#include "cli/import/shell/shell_text.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TEST_CASE("arithmetic binds as bash's does") {
  CHECK(shell_arithmetic("2 + 3 * 4") == 14);
  CHECK(shell_arithmetic("(2 + 3) * 4 % 7") == 6);
  CHECK(shell_arithmetic("100 / 7 / 2") == 7);
  CHECK(shell_arithmetic("2 ** 3 ** 2") == 512);
  CHECK(shell_arithmetic("-4 + 10") == 6);
  CHECK(shell_arithmetic("1 << 4 | 1") == std::nullopt);  // bits are not read
  CHECK(shell_arithmetic("1 << 4") == 16);
  CHECK(shell_arithmetic("3 > 2 && 2 >= 2 || 0") == 1);
  CHECK(shell_arithmetic("! (3 == 3)") == 0);
  CHECK(shell_arithmetic("8 > 16 ? 4 : 8 != 8 ? 2 : 1") == 1);
}

TEST_CASE("what is no number is none") {
  for (const char* text : {"", "A + 1", "1 +", "(1", "1)", "4 / 0", "4 % 0", "1.5", "1 ? 2",
                           "9223372036854775807 + 1", "2 ** -1", "10 ** 30", "1 = 2"}) {
    CAPTURE(text);
    CHECK_FALSE(shell_arithmetic(text));
  }
  CHECK_FALSE(shell_arithmetic(std::string(10000, '(')));
  CHECK_FALSE(shell_arithmetic(std::string(10000, '-') + "1"));
}

TEST_CASE("arithmetic may set a name") {
  const auto set = arithmetic_assignment(" GBS = MBS * 4 ");
  REQUIRE(set);
  CHECK(set->name == "GBS");
  CHECK(set->value == " MBS * 4");
  CHECK(arithmetic_assignment("i++")->value == "i + 1");
  CHECK(arithmetic_assignment("n -= a + b")->value == "n - ( a + b)");
  CHECK_FALSE(arithmetic_assignment("PP > 1"));
  CHECK_FALSE(arithmetic_assignment("PP == 1"));
  CHECK_FALSE(arithmetic_assignment("4 = 4"));
}

}  // namespace
}  // namespace prequel
