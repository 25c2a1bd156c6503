#pragma once

/// The parts of which a model is a sequence, by id: what is told, priced and weighed once each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/layers/layer.hpp"

namespace prequel {

enum class Part : std::uint8_t {
  embedding,
  dense_block,
  windowed_dense_block,
  chunked_dense_block,
  experts_block,
  windowed_experts_block,
  chunked_experts_block,
  next_token,  ///< what multi-token prediction adds before a block and a head
  head
};
inline constexpr std::size_t kParts = 9;

inline constexpr std::array<std::string_view, kParts> kPartNames{"embedding",
                                                                 "block",
                                                                 "windowed block",
                                                                 "chunked block",
                                                                 "experts block",
                                                                 "windowed experts block",
                                                                 "chunked experts block",
                                                                 "next token",
                                                                 "head"};

constexpr std::string_view name(Part part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

inline constexpr unsigned kSpans = 3;  ///< kinds of blocks with an MLP, and of those with experts

constexpr Part part_of(LayerKind kind) {
  const auto first = static_cast<unsigned>(Part::dense_block);
  return static_cast<Part>(first + (kind.experts ? kSpans : 0U) + static_cast<unsigned>(kind.span));
}
constexpr bool is_block(Part part) {
  return part >= Part::dense_block && part <= Part::chunked_experts_block;
}
constexpr LayerKind kind_of(Part block) {
  const unsigned index = static_cast<unsigned>(block) - static_cast<unsigned>(Part::dense_block);
  return {index >= kSpans, static_cast<AttentionSpan>(index % kSpans)};
}

/// Something of every part.
template <class Value>
class PerPart {
 public:
  Value& operator[](Part part) { return values_[static_cast<std::size_t>(part)]; }
  const Value& operator[](Part part) const { return values_[static_cast<std::size_t>(part)]; }
  bool operator==(const PerPart&) const = default;

 private:
  std::array<Value, kParts> values_{};
};

/// How many of each part something holds.
using PartCounts = PerPart<std::int64_t>;

/// Calls `visit` for every part.
template <class Visit>
void each_part(const Visit& visit) {
  for (std::size_t i = 0; i < kParts; ++i) visit(static_cast<Part>(i));
}

/// How many of each part the model has.
PartCounts parts_of(const Transformer& model);
/// Of its layers from `first` on, `count` of them.
PartCounts blocks_of(const Transformer& model, std::int64_t first, std::int64_t count);

/// Tells a part.
Layer tell_part(Part part, const Transformer& model, const LayerSetting& setting,
                const Software& software);

}  // namespace prequel
