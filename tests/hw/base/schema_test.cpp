#include <doctest/doctest.h>

#include "hw/base/schema.hpp"
#include "tests/error_text.hpp"

namespace prequel {
namespace {

void read(const char* text) {
  const Document document = Document::parse("a.json", text);
  expect_schema(document.root(), "prequel/device/1");
  document.finish();
}

TEST_CASE("a file of the schema that is read, or of none that it says, is taken") {
  CHECK_NOTHROW(read(R"({"schema": "prequel/device/1"})"));
  CHECK_NOTHROW(read("{}"));
}

TEST_CASE("a file of another kind or version is refused") {
  CHECK(error_text([] { read(R"({"schema": "prequel/model/1"})"); }) ==
        "a.json: /schema: expected \"prequel/device/1\", got \"prequel/model/1\"");
  CHECK(error_text([] { read(R"({"schema": 1})"); }) == "a.json: /schema: expected text, got 1");
}

}  // namespace
}  // namespace prequel
