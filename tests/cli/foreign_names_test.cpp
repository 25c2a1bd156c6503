#include "cli/import/job/foreign_names.hpp"

#include <doctest/doctest.h>

#include "cli/import/job/number_fields.hpp"
#include "hw/base/json_cursor.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ForeignNames shipped() {
  return read_foreign_names(Library({PREQUEL_SOURCE_DIR "/data"}).open("import", "names"));
}

TEST_CASE("the longest part of a key's path that has a name counts") {
  const ForeignNames names = shipped();
  REQUIRE(named_by_path(names.keys, "optimizer.zero_stage"));
  CHECK(*named_by_path(names.keys, "optimizer.zero_stage") == "--zero-stage");
  CHECK(*named_by_path(names.keys, "a.b.num_hidden_layers") == "--num-layers");
  CHECK(named_by_path(names.keys, "a.learning_rate") == nullptr);
  CHECK(*named_by_path(names.keys_off, "model.add_bias_linear") == "--disable-bias-linear");
}

TEST_CASE("a number of a shape may stand behind other words, the longest name counts") {
  const ForeignNames names = shipped();
  const auto word = [&](const char* name) {
    const std::string* field = names.shape_number(name);
    return field == nullptr ? std::string() : *field;
  };
  CHECK(word("decoder_embed_dim") == "hidden_size");
  CHECK(word("decoder_ffn_embed_dim") == "intermediate_size");
  CHECK(word("num_key_value_heads") == "num_key_value_heads");
  CHECK(word("xhidden_size").empty());
  CHECK(is_of_layers(*number_field("hidden_size")));
  CHECK_FALSE(is_of_layers(*number_field("vocab_size")));
}

TEST_CASE("every number that names tell is one of a job") {
  for (const std::string_view word : kNumberWords) {
    CAPTURE(std::string(word));
    REQUIRE(number_field(word) != nullptr);
    ImportedJob job;
    CHECK_FALSE(number_field(word)->of(job));
  }
}

TEST_CASE("flags that stand for others are none of them themselves") {
  const ForeignNames names = shipped();
  CHECK(names.flags.size() > 40);
  for (const auto& [flag, same] : names.flags) {
    CAPTURE(flag);
    CHECK_FALSE(names.flags.contains(same));
    CHECK(flag.find('_') == std::string::npos);
  }
}

TEST_CASE("a file of names with a field that no job has is refused") {
  const Document file = Document::parse(
      "names.json",
      R"({"schema": "prequel/foreign-names/1", "flags": [], "keys": [], "keys_off": {},
          "numbers": {"colour": ["colour"]}, "shape_numbers": {}})");
  const std::string text = error_text([&] { (void)read_foreign_names(file); });
  CHECK(text.find("/numbers/colour: no number of a job is called so") != std::string::npos);
}

}  // namespace
}  // namespace prequel
