#include "hw/base/nearest.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace prequel;

namespace {
const std::vector<std::string> kWords{"pipeline", "launch", "tiles", "tp", "pp"};
}

TEST_CASE("a word with few typing errors finds what was meant") {
  CHECK(nearest("pipline", kWords) == "pipeline");
  CHECK(nearest("lunch", kWords) == "launch");
  CHECK(nearest("files", kWords) == "tiles");
}

TEST_CASE("two swapped neighbours are one typing error") {
  CHECK(nearest("rign", {"ring"}) == "ring");
  CHECK_FALSE(nearest("gnir", {"ring"}));
}

TEST_CASE("upper and lower case are alike") {
  CHECK(nearest("PIPELINE", kWords) == "pipeline");
}

TEST_CASE("a word more than a third wrong finds nothing") {
  CHECK(nearest("laxxch", kWords) == "launch");  // 2 of 6
  CHECK_FALSE(nearest("laxxxh", kWords));        // 3 of 6
  CHECK_FALSE(nearest("", kWords));
  CHECK_FALSE(nearest("pipeline", {}));
}

TEST_CASE("of equally near candidates the first is meant") {
  CHECK(nearest("xp", kWords) == "tp");
  CHECK(nearest("xp", {"pp", "tp"}) == "pp");
}

TEST_CASE("an exact match beats a near one that comes first") {
  CHECK(nearest("pp", kWords) == "pp");
}

TEST_CASE("insertions, deletions and substitutions count one each") {
  CHECK(nearest("abcdefghi", {"abcdefghi123"}) == "abcdefghi123");
  CHECK_FALSE(nearest("abcdefghi", {"abcdefghi1234"}));
  CHECK(nearest("abcdefghi", {"abcdef"}) == "abcdef");
  CHECK(nearest("abcdefghi", {"xbcdxfghx"}) == "xbcdxfghx");
}

TEST_CASE("a very long word is compared with nothing shorter") {
  CHECK_FALSE(nearest(std::string(1'000'000, 'a'), kWords));
}

TEST_CASE("the hint names the word, or is empty") {
  CHECK(did_you_mean("pipline", kWords) == " (did you mean \"pipeline\"?)");
  CHECK(did_you_mean("zebra", kWords).empty());
  CHECK(did_you_mean("h100", {"h100-sxm-96gb", "h200-sxm", "h100-sxm", "gh100-sxm-long-name"}) ==
        " (did you mean \"h100-sxm\", \"h100-sxm-96gb\"?)");
}

TEST_CASE("names with numbers are near by generation and by size, not by their spelling") {
  const std::vector<std::string> models{
      "llama-7b",        "llama-2-70b", "llama-3.1-8b", "llama-3.1-70b", "llama4-scout",
      "llama4-maverick", "qwen-7b",     "qwen2.5-7b",   "qwen3-8b",      "qwen3-32b",
      "gemma-2-27b",     "gemma-3-27b", "gemma-3-4b"};
  CHECK(did_you_mean("llama-4-70b", models) ==
        " (did you mean \"llama4-scout\", \"llama4-maverick\", \"llama-3.1-70b\"?)");
  CHECK(did_you_mean("qwen3-7b", models) == " (did you mean \"qwen3-8b\", \"qwen2.5-7b\"?)");
  CHECK(did_you_mean("Gemma-4-27B", models) == " (did you mean \"gemma-3-27b\"?)");
  CHECK(did_you_mean("llama-2-70", models) == " (did you mean \"llama-2-70b\"?)");
  CHECK(did_you_mean("bloom-176", {"bloom-7b1", "bloom-1760b", "bloom-176b"}) ==
        " (did you mean \"bloom-176b\"?)");
  CHECK(did_you_mean("lama-2-70b", models) == " (did you mean \"llama-2-70b\"?)");
  CHECK(did_you_mean("dgx-h10", {"dgx-a100", "dgx-h200", "dgx-h100"}) ==
        " (did you mean \"dgx-h100\"?)");
}
