#include "calibrate/measure/journal.hpp"

#include <doctest/doctest.h>

#include "tests/error_text.hpp"
#include "tests/measure/temporary_file.hpp"

namespace prequel {
namespace {

const Work kCopy = Stream{StreamKind::copy, {4096}, 0};
const Work kNorm = Stream{StreamKind::layer_norm, {8192}, 4};
constexpr const char* kHead = R"({"schema":"prequel/measurement/1","context":{"host":"a"}})"
                              "\n";
constexpr const char* kCopyLine = R"({"op":"copy","bytes":4096,"time_s":1e-06})"
                                  "\n";

TEST_CASE("a new file begins with its context, and each point is a line") {
  const TemporaryFile file("new.jsonl");
  Journal journal(file.path(), false, R"({"host":"a"})");
  CHECK_FALSE(journal.has(kCopy));
  journal.add(kCopy, R"({"time_s":1e-6})");
  CHECK(journal.has(kCopy));
  CHECK(file.text() == std::string(kHead) + kCopyLine);
}

TEST_CASE("resuming keeps what is finished and removes a line that was cut off") {
  const TemporaryFile file("cut.jsonl");
  file.write(std::string(kHead) + kCopyLine + R"({"op":"layer_norm","byt)");
  const Journal journal(file.path(), true, R"({"host":"a"})");
  CHECK(journal.has(kCopy));
  CHECK_FALSE(journal.has(kNorm));
  CHECK(file.text() == std::string(kHead) + kCopyLine + kHead);
}

TEST_CASE("points that were skipped count as finished") {
  const TemporaryFile file("skipped.jsonl");
  { Journal(file.path(), false, "{}").add(kNorm, R"({"skipped":"out of memory"})"); }
  CHECK(Journal(file.path(), true, "{}").has(kNorm));
}

TEST_CASE("two writers of one file are refused") {
  const TemporaryFile file("two.jsonl");
  const Journal first(file.path(), false, "{}");
  CHECK(error_text([&] { const Journal second(file.path(), true, "{}"); }) ==
        file.path() + ": another process is writing to it");
}

TEST_CASE("a file that is there is not overwritten") {
  const TemporaryFile file("there.jsonl");
  file.write(kHead);
  CHECK(error_text([&] { const Journal journal(file.path(), false, "{}"); }) ==
        file.path() + ": is there already; resume goes on with it");
  CHECK(file.text() == kHead);
}

TEST_CASE("a file that is not ours is refused and left as it is") {
  const TemporaryFile file("foreign.jsonl");
  for (const std::string text :
       {"m,n,k\n1,2,3\n", "dear diary", "{\"schema\":\"prequel/job/1\"}\n", "[]\n", "\xff\xfe\n"}) {
    file.write(text);
    CHECK(error_text([&] { const Journal journal(file.path(), true, "{}"); }) ==
          file.path() + ":1: not a line of a measurement file (prequel/measurement/1)");
    CHECK(file.text() == text);
  }
}

TEST_CASE("a path that cannot be written says why") {
  CHECK(error_text([] { const Journal journal("/nowhere/at/all", false, "{}"); }) ==
        "/nowhere/at/all: cannot be written: No such file or directory");
}

}  // namespace
}  // namespace prequel
