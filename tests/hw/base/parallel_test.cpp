#include "hw/base/parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/error_text.hpp"

using namespace prequel;

TEST_CASE("every index is worked on exactly once") {
  std::vector<int> calls(10'000, 0);
  parallel_for(calls.size(), [&](std::size_t i) { ++calls[i]; });
  CHECK(std::count(calls.begin(), calls.end(), 1) == 10'000);
}

TEST_CASE("no work is no call") {
  bool called = false;
  parallel_for(0, [&](std::size_t) { called = true; });
  CHECK_FALSE(called);
}

TEST_CASE("an exception of the work reaches the caller") {
  CHECK(error_text([] {
          parallel_for(100, [](std::size_t i) {
            if (i == 42) throw InputError("the answer");
          });
        }) == "the answer");
}
