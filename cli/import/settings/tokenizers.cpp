#include "cli/import/settings/tokenizers.hpp"

#include <algorithm>

#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"

namespace prequel {

const Tokenizer* Tokenizers::find(std::string_view text) const {
  const std::string lower = lower_case(std::string(text));
  const auto found = std::ranges::find_if(known, [&](const Tokenizer& one) {
    return std::ranges::any_of(
        one.names, [&](const std::string& part) { return lower.find(part) != std::string::npos; });
  });
  return found == known.end() ? nullptr : &*found;
}

Tokenizers read_tokenizers(const Document& file) {
  const Cursor root = file.root();
  expect_schema(root, "prequel/tokenizers/1");
  Tokenizers tokenizers;
  tokenizers.usual = root.at("usual").integer(1, 1LL << 24);
  for (const Cursor& one : root.at("tokenizers").items()) {
    Tokenizer& read = tokenizers.known.emplace_back();
    read.name = one.at("name").text();
    for (const Cursor& name : one.at("names").items()) read.names.push_back(name.text());
    read.vocab = one.at("vocab_size").integer(1, 1LL << 24);
    const auto words = one.find("words");
    read.words = words ? words->integer(1, 1LL << 24) : read.vocab;
    (void)one.find("origin");
  }
  file.finish();
  return tokenizers;
}

}  // namespace prequel
