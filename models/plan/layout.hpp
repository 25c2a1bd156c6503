#pragma once

/// Pipeline layouts as Megatron-Core writes them (`--pipeline-model-parallel-layout`):
/// "Et*3|(tt|)*29,m|L" says chunk by chunk, in model order, what it holds: E the embedding, t a
/// block, m a layer of multi-token prediction, L the head; `|` ends a chunk, `x*n` and `(…)*n`
/// repeat.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/plan/stage_content.hpp"

namespace prequel {

/// The content of one chunk of a layout.
struct LayoutChunk {
  std::int64_t blocks{};
  std::int64_t next_token{};
  bool embedding{};
  bool head{};

  bool operator==(const LayoutChunk&) const = default;
};

/// The chunks of a layout, or what is wrong with it.
std::variant<std::vector<LayoutChunk>, std::string> parse_layout(const std::string& text);

/// Why a layout does not deal the model to `chunks` chunks; empty when it does.
std::string layout_problem(const std::string& text, const Transformer& model, std::int64_t chunks);

/// Returns the content of each chunk by a layout without a problem.
std::vector<StageContent> deal_layout(const std::string& text, const Transformer& model);

/// The layout that says what these chunks, in model order, hold.
std::string layout_of(const std::vector<StageContent>& chunks);

/// Layouts of `chunks` chunks, two or more, for stages that take as long as each other: the last
/// chunk has fewer blocks by as many as its head weighs, multi-token prediction comes after the
/// last block, before a head that fills a chunk alone, and the embedding counts as none or as one.
std::vector<std::string> balanced_layouts(const Transformer& model, std::int64_t chunks);

}  // namespace prequel
