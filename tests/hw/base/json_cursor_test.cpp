#include "hw/base/json_cursor.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/error_text.hpp"
#include "tests/hw/base/temporary_folder.hpp"

using namespace prequel;

namespace {

/// The problems that `read(root)` and `finish` find in `text`.
template <class Read>
std::string problems(const std::string& text, const Read& read) {
  return error_text([&] {
    const Document document = Document::parse("x.json", text);
    read(document.root());
    document.finish();
  });
}

/// The problem of reading the member `a`.
template <class Read>
std::string problem_of_a(const std::string& value, const Read& read) {
  return problems("{\"a\": " + value + "}", [&](const Cursor& root) { (void)read(root.at("a")); });
}

double number(const Cursor& cursor) {
  return cursor.number();
}

}  // namespace

TEST_CASE("a good file is read without a word") {
  const Document document = Document::parse("x.json", R"({
    "schema": 1, "note": "n", "name": "a100", "clock": 1.41, "layers": 96, "flash": true,
    "memory": "80 GB", "cache": 4096, "link": "200 Gbit/s", "hbm": 2e12, "kind": "ring",
    "tiles": [{"m": 128, "origin": "o"}, {"m": 256}], "rates": {"bf16": 312e12, "origin": "o"},
    "off": null})");
  const Cursor root = document.root();
  CHECK(root.at("name").text() == "a100");
  CHECK(root.at("clock").number(kPositive) == 1.41);
  CHECK(root.at("layers").count() == 96);
  CHECK(root.at("flash").boolean());
  CHECK(root.at("memory").bytes() == Bytes{80e9});
  CHECK(root.at("cache").bytes() == Bytes{4096.0});
  CHECK(root.at("link").rate() == BytesPerSecond{25e9});
  CHECK(root.at("hbm").rate() == BytesPerSecond{2e12});
  CHECK(root.at("kind").choice({"tree", "ring"}) == 1);
  CHECK(root.at("tiles").items().at(1).at("m").integer(1, 256) == 256);
  CHECK(root.at("tiles").items().at(0).at("m").pointer() == "/tiles/0/m");
  CHECK(root.at("rates").members().size() == 1);
  CHECK(root.at("rates").members().at(0).first == "bf16");
  CHECK_FALSE(root.find("off"));
  CHECK_FALSE(root.find("absent"));
  document.finish();
}

TEST_CASE("a value of the wrong type is told with what was expected") {
  CHECK(problem_of_a("\"x\"", number) == "x.json: /a: expected a number, got \"x\"");
  CHECK(problem_of_a("null", number) == "x.json: /a: expected a number, got null");
  CHECK(problem_of_a("[1]", number) == "x.json: /a: expected a number, got an array");
  CHECK(problem_of_a("{}", [](const Cursor& a) { return a.text(); }) ==
        "x.json: /a: expected text, got an object");
  CHECK(problem_of_a("1", [](const Cursor& a) { return a.boolean(); }) ==
        "x.json: /a: expected true or false, got 1");
  CHECK(problem_of_a("1", [](const Cursor& a) { return a.items(); }) ==
        "x.json: /a: expected an array, got 1");
  CHECK(problem_of_a("1", [](const Cursor& a) { return a.members(); }) ==
        "x.json: /a: expected an object, got 1");
  CHECK(problem_of_a("true", [](const Cursor& a) { return a.at("b").number(); }) ==
        "x.json: /a: expected an object, got true");
  CHECK(problems("[]", [](const Cursor& root) { (void)root.find("b"); }) ==
        "x.json: expected an object, got an array");
}

TEST_CASE("a number outside its range is told with the range") {
  const auto problem = [](const std::string& value, Range range) {
    return problem_of_a(value, [&](const Cursor& a) { return a.number(range); });
  };
  CHECK(problem("0", kPositive) == "x.json: /a: expected a number above 0, got 0");
  CHECK(problem("-1.5", kPositive) == "x.json: /a: expected a number above 0, got -1.5");
  CHECK(problem("-1", kNonNegative) == "x.json: /a: expected a number of at least 0, got -1");
  CHECK(problem("1e300", kPositive) ==
        "x.json: /a: expected a number of at most 1e+30, got 1e+300");
  CHECK(problem("1.5", kFraction) == "x.json: /a: expected a number from 0 to 1, got 1.5");
  CHECK(problem("0", {0.0, 4.0, true}) ==
        "x.json: /a: expected a number above 0 and at most 4, got 0");
  CHECK(problem("5", {.max = 4.0}) == "x.json: /a: expected a number of at most 4, got 5");
  CHECK(problem("0", kNonNegative) == "no error");
  CHECK(problem("1", kFraction) == "no error");
  CHECK(problem("-1e300", kAnyNumber) == "no error");
}

TEST_CASE("a whole number may be written as 1e3 but must be whole and in its range") {
  const auto problem = [](const std::string& value) {
    return problem_of_a(value, [](const Cursor& a) { return a.integer(1, 1000); });
  };
  CHECK(problem("1e3") == "no error");
  CHECK(problem("2.5") == "x.json: /a: expected a whole number from 1 to 1000, got 2.5");
  CHECK(problem("0") == "x.json: /a: expected a whole number from 1 to 1000, got 0");
  CHECK(problem("\"8\"") == "x.json: /a: expected a whole number from 1 to 1000, got \"8\"");
  CHECK(problem("1e300") == "x.json: /a: expected a whole number from 1 to 1000, got 1e+300");
  CHECK(problem("18446744073709551615") ==
        "x.json: /a: expected a whole number from 1 to 1000, got 18446744073709551615");
}

TEST_CASE("a count is a whole number from 1 to 2^40") {
  const auto problem = [](const std::string& value) {
    return problem_of_a(value, [](const Cursor& a) { return a.count(); });
  };
  CHECK(problem("1099511627776") == "no error");
  CHECK(problem("-3") == "x.json: /a: expected a whole number of at least 1, got -3");
  CHECK(problem("1099511627777") ==
        "x.json: /a: expected a whole number from 1 to 1099511627776, got 1099511627777");
}

TEST_CASE("a failed whole number is replaced by one of its range, fit to divide by") {
  const Document document = Document::parse("x.json", R"({"a": 0})");
  CHECK(document.root().at("a").count() == 1);
  CHECK(document.root().at("a").integer(-5, 5) == 0);
}

TEST_CASE("an amount with a wrong unit is told with an example") {
  CHECK(problem_of_a("\"eighty\"", [](const Cursor& a) { return a.bytes().value; }) ==
        "x.json: /a: expected bytes (e.g. \"80 GB\"), got \"eighty\"");
  CHECK(problem_of_a("true", [](const Cursor& a) { return a.bytes().value; }) ==
        "x.json: /a: expected bytes (e.g. \"80 GB\"), got true");
  CHECK(problem_of_a("0", [](const Cursor& a) { return a.bytes().value; }) ==
        "x.json: /a: expected a number above 0, got 0");
  CHECK(problem_of_a("\"1e300\"", [](const Cursor& a) { return a.bytes().value; }) ==
        "x.json: /a: expected bytes (e.g. \"80 GB\"), got \"1e300\"");
  CHECK(problem_of_a("\"25 GB\"", [](const Cursor& a) { return a.rate().value; }) ==
        "x.json: /a: expected a rate (e.g. \"25 GB/s\" or \"200 Gbit/s\"), got \"25 GB\"");
}

TEST_CASE("a wrong choice is told with all choices and the nearest") {
  const auto problem = [](const std::string& value) {
    return problem_of_a(value, [](const Cursor& a) {
      return a.choice({"ring", "tree", "direct"});
    });
  };
  CHECK(problem("\"no\"") == "x.json: /a: expected \"ring\", \"tree\" or \"direct\", got \"no\"");
  CHECK(problem("\"tre\"") ==
        "x.json: /a: expected \"ring\", \"tree\" or \"direct\", got \"tre\" "
        "(did you mean \"tree\"?)");
  CHECK(problem("3") == "x.json: /a: expected \"ring\", \"tree\" or \"direct\", got 3");
}

TEST_CASE("a key that nobody asked for is an error that names the nearest") {
  CHECK(problems(R"({"pipline": 1})", [](const Cursor& root) { (void)root.find("pipeline"); }) ==
        "x.json: /pipline: unknown key; did you mean \"pipeline\"?");
  CHECK(problems(R"({"zebra": 1})", [](const Cursor& root) {
          (void)root.find("tp"), (void)root.find("pp");
        }) == "x.json: /zebra: unknown key; expected \"tp\" or \"pp\"");
}

TEST_CASE("origin, note and schema are known everywhere") {
  CHECK(problems(R"({"a": {"origin": "o", "note": "n", "schema": 1, "b": 2}, "schema": 1})",
                 [](const Cursor& root) { (void)root.at("a").at("b").number(); }) == "no error");
}

TEST_CASE("a missing key is told with what it should hold") {
  CHECK(problems("{}", [](const Cursor& root) { (void)root.at("a").number(kFraction); }) ==
        "x.json: /a: missing; expected a number from 0 to 1");
  CHECK(problems("{}", [](const Cursor& root) { (void)root.at("a"); }) == "x.json: /a: missing");
}

TEST_CASE("what is inside a missing key is not told as missing too") {
  CHECK(problems("{}", [](const Cursor& root) {
          const Cursor missing = root.at("a");
          CHECK(missing.at("b").text().empty());
          CHECK(missing.at("b").items().empty());
          CHECK(missing.json().is_null());
          CHECK_FALSE(missing.is_object());
        }) == "x.json: /a: missing; expected an object");
}

TEST_CASE("all problems are told at once, in the order of the file") {
  CHECK(problems(R"({"z": -1, "gpu": {"memory": "eighty", "clok": 1}, "a": "x", "b": [1, "y"]})",
                 [](const Cursor& root) {
                   for (const Cursor& item : root.at("b").items()) (void)item.number();
                   (void)root.at("a").number();
                   (void)root.at("z").number(kPositive);
                   (void)root.at("gpu").at("clock").number();
                   (void)root.at("gpu").at("memory").bytes();
                 }) ==
        "x.json: /z: expected a number above 0, got -1\n"
        "x.json: /gpu/clock: missing; expected a number\n"
        "x.json: /gpu/memory: expected bytes (e.g. \"80 GB\"), got \"eighty\"\n"
        "x.json: /gpu/clok: unknown key; did you mean \"clock\"?\n"
        "x.json: /a: expected a number, got \"x\"\n"
        "x.json: /b/1: expected a number, got \"y\"");
}

TEST_CASE("the same problem is told once") {
  CHECK(problems("{}", [](const Cursor& root) {
          (void)root.at("a").at("b").number();
          (void)root.at("a").at("c").text();
        }) == "x.json: /a: missing; expected an object");
  CHECK(problem_of_a("\"x\"", [](const Cursor& a) { return a.number() + a.number(); }) ==
        "x.json: /a: expected a number, got \"x\"");
}

TEST_CASE("a reader may add problems of its own") {
  const Document document = Document::parse("x.json", R"({"a": 1})");
  document.root().at("a").problem("must be even");
  document.problem("/b", "is odd");
  CHECK(error_text([&] { document.finish(); }) == "x.json: /b: is odd\nx.json: /a: must be even");
}

TEST_CASE("after a hundred problems no more are listed") {
  std::string text = "[\"x\"";
  for (int i = 1; i < 5000; ++i) text += ",\"x\"";
  const Document document = Document::parse("x.json", text + "]");
  for (const Cursor& item : document.root().items()) (void)item.number();
  try {
    document.finish();
    FAIL("no error");
  } catch (const InputError& error) {
    REQUIRE(error.problems().size() == 101);
    CHECK(error.problems()[99] == "x.json: /99: expected a number, got \"x\"");
    CHECK(error.problems()[100] == "x.json: and more problems");
  }
}

TEST_CASE("long and unprintable values and keys are shown short and safe") {
  CHECK(problem_of_a("\"" + std::string(500, 'x') + "\"", number) ==
        "x.json: /a: expected a number, got \"" + std::string(60, 'x') + "…\"");
  CHECK(problem_of_a(R"("\u001b[31m\n")", number) ==
        "x.json: /a: expected a number, got \"\\x1b[31m\\x0a\"");
  CHECK(problems(R"({"\u001b": 1})", [](const Cursor& root) { (void)root.find("tp"); }) ==
        "x.json: /\\x1b: unknown key; expected \"tp\"");
}

TEST_CASE("one field is overridden, existing or new") {
  Document document = Document::parse("x.json", R"({"a": {"b": [1, {"c": 2}]}})");
  document.set("a.b.1.c", "3.5");
  document.set("a.name", "fast one");
  document.set("new.list", "[1, 2]");
  document.set("quoted", "\"7\"");
  document.set("empty", "");
  CHECK(document.json() == nlohmann::json::parse(R"({"a": {"b": [1, {"c": 3.5}],
      "name": "fast one"}, "new": {"list": [1, 2]}, "quoted": "7", "empty": ""})"));
}

TEST_CASE("a problem of an overridden field says where it is from") {
  Document document = Document::parse("x.json", R"({"a": 1, "b": {"c": 1}})");
  document.set("a", "NaN");
  document.set("b.d", "1");
  document.set("e.f", "1");
  (void)document.root().at("a").number();
  (void)document.root().at("b").at("c").number();
  CHECK(error_text([&] { document.finish(); }) ==
        "x.json: /e: unknown key; did you mean \"a\"? (from override)\n"
        "x.json: /a: expected a number, got \"NaN\" (from override)\n"
        "x.json: /b/d: unknown key; did you mean \"c\"? (from override)");
}

TEST_CASE("an override that leads nowhere is refused") {
  Document document = Document::parse("x.json", R"({"a": 1, "b": [1, 2]})");
  const auto problem = [&](const std::string& path) {
    return error_text([&] { document.set(path, "1"); });
  };
  CHECK(problem("") == "override : expected a path such as host.launch");
  CHECK(problem("b..c") == "override b..c: expected a path such as host.launch");
  CHECK(problem("a.x") == "override a.x: 1 has no members");
  CHECK(problem("b.2") == "override b.2: no element \"2\" in an array of 2");
  CHECK(problem("b.-1") == "override b.-1: no element \"-1\" in an array of 2");
  CHECK(problem("b.1x") == "override b.1x: no element \"1x\" in an array of 2");
}

TEST_CASE("JSON in memory is read like a file") {
  const Document document = Document::from("plan", {{"tp", 0}});
  CHECK(document.file() == "plan");
  (void)document.root().at("tp").count();
  CHECK(error_text([&] { document.finish(); }) ==
        "plan: /tp: expected a whole number of at least 1, got 0");
}

TEST_CASE("documents of one text are read once, and anew where a field is set") {
  static int reads = 0;
  reads = 0;
  double (*const reader)(const Document&) = [](const Document& document) {
    ++reads;
    const double value = document.root().at("a").number(kPositive);
    document.finish();
    return value;
  };
  const auto text = parse_text("x.json", R"({"a": 1})");
  CHECK(Document::of("x.json", text).read_once(reader) == 1);
  CHECK(Document::of("x.json", text).read_once(reader) == 1);
  CHECK(reads == 1);
  Document changed = Document::of("x.json", text);
  changed.set("a", "2");
  CHECK(changed.read_once(reader) == 2);
  CHECK(Document::of("x.json", text).read_once(reader) == 1);
  CHECK(reads == 2);
}

TEST_CASE("a text that cannot be read is told each time") {
  double (*const reader)(const Document&) = [](const Document& document) {
    const double value = document.root().at("a").number(kPositive);
    document.finish();
    return value;
  };
  const auto text = parse_text("x.json", R"({"a": -1})");
  for (int i = 0; i < 2; ++i) {
    CHECK(error_text([&] { (void)Document::of("x.json", text).read_once(reader); }) ==
          "x.json: /a: expected a number above 0, got -1");
  }
}

TEST_CASE("a document over another changes what it says and keeps the rest") {
  const auto patch = parse_text("x.json", R"({"like": "y", "a": 3, "c": {"d": null}})");
  const auto base = parse_text("y.json", R"({"a": 1, "b": 2, "c": {"d": 4, "e": 5}})");
  const auto over = [&](const Document& on) {
    return Document::of("x.json", patch).over(on, "like");
  };
  const Document whole = over(Document::of("y.json", base));
  CHECK(whole.file() == "x.json");
  CHECK(whole.json() == nlohmann::json::parse(R"({"a": 3, "b": 2, "c": {"e": 5}})"));
  CHECK(&over(Document::of("y.json", base)).json() == &whole.json());  // made once
  Document changed = Document::of("y.json", base);
  changed.set("b", "7");
  CHECK(over(changed).json()["b"] == 7);
}

TEST_CASE("cursors stay good when their document is moved") {
  Document first = Document::parse("x.json", R"({"a": 1})");
  const Cursor a = first.root().at("a");
  const Document second = std::move(first);
  CHECK(a.number() == 1.0);
  second.finish();
}

TEST_CASE("a file that cannot be read or parsed is told by its path") {
  const TemporaryFolder folder;
  const std::string cut = folder.with("cut.json", "{\"a\": ");
  CHECK(error_text([&] { Document::read(cut); }) ==
        cut +
            ": line 1, column 7: not JSON: unexpected end of input; "
            "expected '[', '{', or a literal");
  CHECK(error_text([&] { Document::read(folder / "none.json"); }) ==
        (folder / "none.json") + ": no such file");
  const std::string large = folder.with("large.json", "{}");
  std::filesystem::resize_file(large, 200'000'000);
  CHECK(error_text([&] { Document::read(large); }) == large + ": is 200 MB; at most 16 MiB");
}
