#include "hw/base/errors.hpp"

#include <doctest/doctest.h>

using namespace prequel;

TEST_CASE("the text of an input error is its problems, one a line") {
  const InputError error(std::vector<std::string>{"a: wrong", "b: wrong too"});
  CHECK(std::string(error.what()) == "a: wrong\nb: wrong too");
  CHECK(error.problems().size() == 2);
}

TEST_CASE("an input error of one message has one problem") {
  const InputError error("a: wrong");
  CHECK(std::string(error.what()) == "a: wrong");
  CHECK(error.problems() == std::vector<std::string>{"a: wrong"});
}
