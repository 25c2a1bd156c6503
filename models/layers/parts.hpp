#pragma once

/// The parts of which a model is a sequence, by id: each is told, priced and weighed once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/layer.hpp"

namespace prequel {

/// Embedding, head, and between them indices of the model's distinct sublayers.
enum class Part : std::uint8_t {
  embedding,
  first_block,                            ///< the first of its kinds (LayerKinds)
  next_token = first_block + kMostKinds,  ///< what multi-token prediction adds before its layers
  head
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::head) + 1;

constexpr bool is_block(Part part) {
  return part >= Part::first_block && part < Part::next_token;
}

/// The distinct sublayers of a model, those of multi-token prediction included.
class LayerKinds {
 public:
  explicit LayerKinds(const Transformer& model) : kinds_(distinct_kinds(model)) {}

  /// The part of a sublayer that the model has.
  [[nodiscard]] Part part_of(LayerKind kind) const;
  /// Returns the kind of a part that is a block of the model's.
  [[nodiscard]] LayerKind kind_of(Part block) const {
    return kinds_[static_cast<std::size_t>(block) - static_cast<std::size_t>(Part::first_block)];
  }
  [[nodiscard]] const std::vector<LayerKind>& all() const { return kinds_; }

 private:
  std::vector<LayerKind> kinds_;
};

/// A sublayer in words: "block", "windowed block", "experts block", "attention layer".
std::string name(LayerKind kind);
/// A part in words.
std::string name(Part part, const LayerKinds& kinds);

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

/// Calls `visit` for each of the model's distinct sublayers, with its part and its kind.
template <class Visit>
void each_kind(const LayerKinds& kinds, const Visit& visit) {
  for (std::size_t i = 0; i < kinds.all().size(); ++i) {
    visit(static_cast<Part>(static_cast<std::size_t>(Part::first_block) + i), kinds.all()[i]);
  }
}

/// How many of each part the model has.
PartCounts parts_of(const Transformer& model);
/// Returns the counts of its parts for `count` layers from `first` on.
PartCounts blocks_of(const Transformer& model, std::int64_t first, std::int64_t count);
/// Adds so many depths of multi-token prediction, but their heads.
void add_next_token(PartCounts& counts, const Transformer& model, std::int64_t depths);

/// Tells a part that the model has.
Layer tell_part(Part part, const Transformer& model, const LayerSetting& setting,
                const Software& software);

}  // namespace prequel
