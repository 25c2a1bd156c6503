#pragma once

/// How many words known tokenizers have, for scripts that name one and no number.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

class Document;

struct Tokenizer {
  std::string name;                ///< for people: "Llama 3"
  std::vector<std::string> names;  ///< parts of what files call it, in lower case: "llama-3"
  std::int64_t vocab{};            ///< rows that its models' embeddings have
  std::int64_t words{};  ///< of its own, to which scripts may add: as many rows, if unsaid
};

struct Tokenizers {
  std::vector<Tokenizer> known;
  std::int64_t usual{};  ///< rows to assume where none is known

  /// The first one of which a part of its name is in `text`, in any case of letters; null if none.
  [[nodiscard]] const Tokenizer* find(std::string_view text) const;
};

/// Reads a `prequel/tokenizers/1` file. Throws InputError with every problem of the file.
Tokenizers read_tokenizers(const Document& file);

}  // namespace prequel
