#include "cli/import/shell/shell_text.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TEST_CASE("brackets end where bash ends them") {
  const auto inside = [](std::string_view text) {
    const std::size_t end = end_of_brackets(text, 0);
    return end == std::string_view::npos ? "never" : std::string(text.substr(0, end));
  };
  CHECK(inside("(cd \"$(dirname \"$0\")\" && pwd)/x") == "(cd \"$(dirname \"$0\")\" && pwd)");
  CHECK(inside("(echo ')' # )\n) )") == "(echo ')' # )\n)");
  CHECK(inside("(a \\) b)c") == "(a \\) b)");
  CHECK(inside("(a") == "never");
  CHECK(inside("(a \"b)") == "never");
  CHECK(end_of_arithmetic("(( (A*(B+1)) )) + 1", 0) == 15);
  CHECK(end_of_arithmetic("((A) + B)", 0) == std::string_view::npos);
}

TEST_CASE("functions are found with their bodies") {
  const FunctionDefinition found = function_definition(
      "launch () {\n  a ${B:-{}} '}' # }\n  cat <<EOT\n{\n}\nEOT\n  { c; }\n}\nrest", 0);
  CHECK(found.name == "launch");
  CHECK(found.body.ends_with("{ c; }\n"));
  CHECK(function_definition("function f { x; }", 0).body == " x; ");
  CHECK(function_definition("f() { (( 1 << 2 )); }", 0).body == " (( 1 << 2 )); ");
  CHECK(function_definition("f() {\n x", 0).end == std::string_view::npos);
  CHECK(function_definition("f (x)", 0).name.empty());
  CHECK(function_definition("f { x; }", 0).name.empty());
}

TEST_CASE("patterns stand for what bash has them stand for") {
  CHECK(fits_pattern("llama-7b", "llama*b") == true);
  CHECK(fits_pattern("llama-7b", "*13b*") == false);
  CHECK(fits_pattern("7b", "??") == true);
  CHECK(fits_pattern("", "*") == true);
  CHECK_FALSE(fits_pattern("7b", "[0-9]b"));
}

TEST_CASE("operators change a value") {
  CHECK(changed("llama_tp2_pp4", "%%_tp*") == "llama");
  CHECK(changed("llama_tp2_pp4", "#*_tp") == "2_pp4");
  CHECK(changed("llama_tp2_pp4", "##*_pp") == "4");
  CHECK(changed("a.b.c", "%.*") == "a.b");
  CHECK(changed("7b-7b", "/7b/13b") == "13b-7b");
  CHECK(changed("7b-7b", "//7b/13b") == "13b-13b");
  CHECK(changed("llama", ":0:2") == "ll");
  CHECK(changed("7B", ",,") == "7b");
  CHECK(changed("bf16", "^^") == "BF16");
  CHECK(changed("one two ", "[1]") == "two");
  CHECK(changed("[7b]=32 [13b]=40", "[13b]") == "40");
  CHECK(changed("[7b]=32 4096 [13b]=40 5120", "[7b]") == "32 4096");
  CHECK_FALSE(changed("[7b]=32", "[70b]"));
  CHECK_FALSE(changed("x", "/*/y"));
  CHECK_FALSE(changed("x", "@Q"));
}

}  // namespace
}  // namespace prequel
