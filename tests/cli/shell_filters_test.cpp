#include "cli/import/shell/shell_text.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

using Command = std::vector<std::string>;

TEST_CASE("filters make of a text what they print") {
  CHECK(filtered("gpt_32_4096", {"cut", "-d_", "-f2"}) == "32");
  CHECK(filtered("a:b:c", {"cut", "-d", ":", "-f", "3"}) == "c");
  CHECK(filtered("plain", {"cut", "-d_", "-f2"}) == "plain");  // as a line without the sign
  CHECK(filtered("0,1,2,3", {"tr", ",", "\\n"}) == "0\n1\n2\n3");
  CHECK(filtered("0,1,2,3", {"tr", "-d", ","}) == "0123");
  CHECK(filtered("7B", {"tr", "A-Z", "a-z"}) == "7b");
  CHECK(filtered("0\n1\n2", {"wc", "-l"}) == "3");
  CHECK(filtered("a b\nc", {"wc", "-w"}) == "3");
  CHECK(filtered("x 32 4096", {"awk", "{print $2}"}) == "32");
  CHECK(filtered("x=32", {"awk", "-F=", "{ print $2 }"}) == "32");
  CHECK(filtered("a\nb", {"head", "-n", "1"}) == "a");
  CHECK(filtered("a\nb", {"tail", "-1"}) == "b");
  CHECK(filtered("7b-7b", {"sed", "s/7b/13b/"}) == "13b-7b");
  CHECK(filtered("7b-7b", {"sed", "s/7b/13b/g"}) == "13b-13b");
}

TEST_CASE("other uses of filters are not known") {
  for (const Command& command :
       {Command{}, Command{"cut"}, Command{"cut", "-c1"}, Command{"cut", "-d_", "-f0"},
        Command{"tr"}, Command{"tr", "ab", "cd"}, Command{"wc"}, Command{"head", "-5"},
        Command{"awk"}, Command{"awk", "{print $1, $2}"}, Command{"sed", "s/a.*/b/"},
        Command{"sed", "s/a"}, Command{"sed", "s//b/"}, Command{"python"}}) {
    CHECK_FALSE(filtered("a_b", command));
  }
}

}  // namespace
}  // namespace prequel
