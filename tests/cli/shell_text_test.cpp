#include "cli/import/shell/shell_text.hpp"

#include <doctest/doctest.h>

#include "cli/import/shell/shell_syntax.hpp"

namespace prequel {
namespace {

TEST_CASE("brackets end where bash ends them") {
  const auto inside = [](std::string_view text) {
    return std::string(text.substr(0, end_of_expansion(text, 0)));
  };
  CHECK(inside("$(cd \"$(dirname \"$0\")\" && pwd)/x") == "$(cd \"$(dirname \"$0\")\" && pwd)");
  CHECK(inside("$(echo ')' # )\n) )") == "$(echo ')' # )\n)");
  CHECK(inside("$(a \\) b)c") == "$(a \\) b)");
  CHECK(inside("$(case $x in a) b;; esac; (c))d") == "$(case $x in a) b;; esac; (c))");
  CHECK(inside("$(a") == "$(a");
  CHECK(inside("$(a \"b)") == "$(a \"b)");
  CHECK(inside("$(( (A*(B+1)) )) + 1") == "$(( (A*(B+1)) ))");
  CHECK(inside("$((A) | B)") == "$((A) | B)");  // a group in a substitution
}

TEST_CASE("functions are found with their bodies") {
  const auto found = [](std::string_view text) {
    const CommandList commands = shell_commands(text);
    return commands.front().kind == ShellCommand::Kind::function
               ? std::pair(commands.front().name, commands.front().text)
               : std::pair(std::string(), std::string());
  };
  const auto launch =
      found("launch () {\n  a ${B:-{}} '}' # }\n  cat <<EOT\n{\n}\nEOT\n  { c; }\n}\nrest");
  CHECK(launch.first == "launch");
  CHECK(launch.second.ends_with("{ c; }\n"));
  CHECK(found("function f { x; }").second == " x; ");
  CHECK(found("f() { (( 1 << 2 )); }").second == " (( 1 << 2 )); ");
  CHECK(found("f() {\n x").first.empty());
  CHECK(found("f (x)").first.empty());
  CHECK(found("f { x; }").first.empty());
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
