#include "hw/base/json_layout.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace prequel {
namespace {

TEST_CASE("what fits on a line stands on one, keys keep their order") {
  const auto value = nlohmann::ordered_json::parse(
      R"({"b": {"y": 1, "x": [1, 2]}, "a": ["a long text", "another one"], "e": {}})");
  CHECK(laid_out(value, 31) ==
        "{\n"
        "  \"b\": { \"y\": 1, \"x\": [1, 2] },\n"
        "  \"a\": [\n"
        "    \"a long text\",\n"
        "    \"another one\"\n"
        "  ],\n"
        "  \"e\": {}\n"
        "}\n");
}

TEST_CASE("numbers are rounded to significant digits") {
  CHECK(rounded(0.123456) == 0.1235);
  CHECK(rounded(123456.0) == 123500.0);
  CHECK(rounded(2.3456e-6, 2) == 2.3e-6);
}

}  // namespace
}  // namespace prequel
