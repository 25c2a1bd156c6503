#include "models/shape/layer_pattern.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "hw/base/text.hpp"

namespace prequel {
namespace {

struct Letter {
  char letter{};
  LayerKind kind;
};

constexpr Letter kLetters[] = {
    {'*', {Feed::none, Mixer::attention}}, {'M', {Feed::none, Mixer::state_space}},
    {'G', {Feed::none, Mixer::delta_net}}, {'D', {Feed::none, Mixer::sparse}},
    {'+', {Feed::none, Mixer::attention}}, {'-', {Feed::mlp, Mixer::none}},
    {'E', {Feed::experts, Mixer::none}},
};
constexpr std::size_t kMostSublayers = 4096;

std::string known_letters() {
  std::string text;
  for (const Letter& each : kLetters)
    text += fmt::format("{}{}", text.empty() ? "" : " ", each.letter);
  return text;
}

/// Sublayers of one part between slashes, or a problem.
std::variant<LayerPattern, std::string> parse_part(std::string_view letters) {
  LayerPattern part;
  part.chunks.push_back(0);
  for (const char letter : letters) {
    if (letter == '|') {
      part.chunks.push_back(0);
      continue;
    }
    const auto* const known = std::ranges::find(kLetters, letter, &Letter::letter);
    if (known == std::end(kLetters)) {
      return fmt::format("{} is no letter of a layer; letters are {}",
                         in_quotes(std::string(1, letter)), known_letters());
    }
    if (letters.find('D') != std::string_view::npos &&
        letters.find('*') != std::string_view::npos) {
      return "plain attention (*) does not go with a sparse core (D) in one model";
    }
    part.layers.push_back(known->kind);
    ++part.chunks.back();
  }
  return part;
}

}  // namespace

std::variant<LayerPattern, std::string> parse_layer_pattern(const std::string& letters) {
  if (letters.size() > kMostSublayers) {
    return fmt::format("{} letters are more than {}", letters.size(), kMostSublayers);
  }
  const std::size_t slash = letters.find('/');
  auto parsed = parse_part(std::string_view(letters).substr(0, slash));
  if (parsed.index() == 1) return parsed;
  LayerPattern& pattern = std::get<LayerPattern>(parsed);
  if (pattern.layers.empty()) return "it has no letter of a layer; letters are " + known_letters();
  std::string_view depth;
  for (std::size_t begin = slash; begin != std::string::npos;) {
    const std::size_t end = letters.find('/', begin + 1);
    const auto next = std::string_view(letters).substr(
        begin + 1, end == std::string::npos ? end : end - begin - 1);
    if (pattern.depths++ == 0) depth = next;
    if (next.empty() || next.find('|') != std::string_view::npos) {
      return "a depth of multi-token prediction (behind /) needs letters, and no bar";
    }
    if (next != depth) {
      return fmt::format("depths of multi-token prediction (behind /) have to be equal: {} and {}",
                         depth, next);
    }
    begin = end;
  }
  if (pattern.depths > 0) {
    auto more = parse_part(depth);
    if (more.index() == 1) return more;
    pattern.next_token = std::get<LayerPattern>(more).layers;
  }
  return parsed;
}

std::string pattern_letters(const std::vector<LayerKind>& layers) {
  std::string letters;
  for (const LayerKind& kind : layers) {
    const auto* const known = std::ranges::find(kLetters, kind, &Letter::kind);
    if (known == std::end(kLetters)) return {};
    letters += known->letter;
  }
  return letters;
}

}  // namespace prequel
