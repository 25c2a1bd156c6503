#include "models/plan/layout.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "hw/base/text.hpp"
#include "models/layers/parameters.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostLetters = 1 << 16;
constexpr std::size_t kMostRepeats = 1 << 13;
constexpr double kNoBlocks = 1e9;  ///< a load beside which no block is dealt

/// Writes out what repeats.
class Expander {
 public:
  explicit Expander(const std::string& text) : text_(text) {}

  /// Empty where the text is no layout.
  std::string expand() && {
    const bool good = sequence(0) && place_ == text_.size() && all_.size() < kMostLetters;
    return good ? std::move(all_) : std::string();
  }

 private:
  /// Appends what is written up to the end, or to the bracket that closes; false where that is no
  /// layout.
  bool sequence(int depth) {
    while (place_ < text_.size() && text_[place_] != ')' && all_.size() < kMostLetters) {
      const char letter = text_[place_++];
      if (letter == ',' || letter == ' ') continue;
      const std::size_t begin = all_.size();
      if (letter == '(') {
        if (depth > 8 || !sequence(depth + 1)) return false;
        if (place_ == text_.size() || text_[place_] != ')') return false;
        ++place_;
      } else if (std::string_view("Etm|L").find(letter) != std::string_view::npos) {
        all_ += letter;
      } else {
        return false;
      }
      const std::size_t length = all_.size() - begin;
      const std::size_t times = repeats();
      if (times == 0 || times * length > kMostLetters) return false;
      for (std::size_t i = 1; i < times; ++i) all_.append(all_, begin, length);
    }
    return true;
  }

  std::size_t repeats() {
    if (place_ == text_.size() || text_[place_] != '*') return 1;
    ++place_;
    std::size_t times = 0;
    while (place_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[place_])) != 0) {
      times = 10 * times + static_cast<std::size_t>(text_[place_++] - '0');
      if (times > kMostRepeats) return 0;
    }
    return times;
  }

  const std::string& text_;
  std::size_t place_{};
  std::string all_;
};

/// Parameters of products that a token passes: what a part weighs against others.
double passed_parameters(const Transformer& model) {
  const ParameterCount block = block_parameters(model, model.kind_of(model.layers - 1));
  const double chosen = model.has_experts()
                            ? model.experts.working() / static_cast<double>(model.experts.count)
                            : 0.0;
  return static_cast<double>(block.dense) + chosen * static_cast<double>(block.experts);
}

/// Blocks of each chunk so that no chunk, with what it holds already, is heavier than it must be;
/// those that are left over are in the middle.
std::vector<std::int64_t> level(const std::vector<double>& loads, std::int64_t blocks) {
  const std::size_t chunks = loads.size();
  std::vector<std::size_t> order(chunks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::abs(2 * static_cast<double>(i) - static_cast<double>(chunks - 1));
  });
  std::vector<std::int64_t> dealt(chunks);
  for (; blocks > 0; --blocks) {
    const auto lightest = std::ranges::min_element(order, {}, [&](std::size_t i) {
      return std::round(4 * (loads[i] + static_cast<double>(dealt[i])));  // in quarters of a block
    });
    ++dealt[*lightest];
  }
  return dealt;
}

/// Chunks with bars between them; those that repeat in a row are written once.
std::string joined(const std::vector<std::string>& chunks) {
  std::string text;
  for (std::size_t i = 0; i < chunks.size();) {
    std::size_t end = i + 1;
    while (end + 1 < chunks.size() && chunks[end] == chunks[i]) ++end;
    if (end - i > 1) {
      text += fmt::format("({}|)*{}", chunks[i], end - i);
    } else {
      text += chunks[i] + (end < chunks.size() ? "|" : "");
    }
    i = end;
  }
  return text;
}

}  // namespace

std::variant<std::vector<LayoutChunk>, std::string> parse_layout(const std::string& text) {
  const std::string all = Expander(text).expand();
  if (all.empty()) {
    return fmt::format(
        "layout {}: expected letters E, t, m, L and |, repeated by *n, such as "
        "\"Et*3|(tt|)*29m|L\"",
        in_quotes(text));
  }
  std::vector<LayoutChunk> chunks;
  chunks.reserve(1 + static_cast<std::size_t>(std::ranges::count(all, '|')));
  chunks.emplace_back();
  for (const char letter : all) {
    LayoutChunk& chunk = chunks.back();
    switch (letter) {
      case '|': chunks.emplace_back(); break;
      case 't': ++chunk.blocks; break;
      case 'm': ++chunk.next_token; break;
      case 'E': chunk.embedding = true; break;
      default: chunk.head = true;
    }
  }
  return chunks;
}

std::string layout_problem(const std::string& text, const Transformer& model, std::int64_t chunks) {
  const auto parsed = parse_layout(text);
  if (const auto* problem = std::get_if<std::string>(&parsed)) return *problem;
  const auto& dealt = std::get<std::vector<LayoutChunk>>(parsed);
  LayoutChunk all;
  for (const LayoutChunk& chunk : dealt) {
    all.blocks += chunk.blocks;
    all.next_token += chunk.next_token;
  }
  if (std::ssize(dealt) != chunks) {
    return fmt::format("layout {}: {} chunks, but pp x vpp is {}", in_quotes(text), dealt.size(),
                       chunks);
  }
  if (all.blocks != model.layers || all.next_token != model.next_token_layers) {
    return fmt::format(
        "layout {}: {} layers and {} of multi-token prediction, but {} has {} and {}",
        in_quotes(text), all.blocks, all.next_token, model.name, model.layers,
        model.next_token_layers);
  }
  const std::string letters = Expander(text).expand();
  if (letters.find('m') != std::string::npos && letters.find('m') < letters.rfind('t')) {
    return fmt::format(
        "layout {}: multi-token prediction (m) begins with what the last layer (t) says; m after "
        "the last t would do",
        in_quotes(text));
  }
  if (letters.front() != 'E' || letters.back() != 'L') {
    return fmt::format("layout {}: it has to begin with E and to end with L", in_quotes(text));
  }
  return {};
}

std::vector<StageContent> deal_layout(const std::string& text, const Transformer& model) {
  std::vector<StageContent> stages;
  std::int64_t first = 0;
  const auto parsed = parse_layout(text);
  const auto& chunks = std::get<std::vector<LayoutChunk>>(parsed);
  stages.reserve(chunks.size());
  for (const LayoutChunk& chunk : chunks) {
    StageContent stage{chunk.blocks, chunk.embedding, chunk.head,
                       blocks_of(model, first, chunk.blocks)};
    first += chunk.blocks;
    stage.parts[Part::embedding] = chunk.embedding ? 1 : 0;
    stage.parts[Part::head] = (chunk.head ? 1 : 0) + chunk.next_token;
    add_next_token(stage.parts, model, chunk.next_token);
    stages.push_back(stage);
  }
  return stages;
}

std::string layout_of(const std::vector<StageContent>& chunks) {
  std::vector<std::string> texts;
  for (const StageContent& chunk : chunks) {
    std::string text = chunk.embedding ? "E" : "";
    text += std::string(static_cast<std::size_t>(chunk.blocks), 't');
    text += std::string(static_cast<std::size_t>(chunk.parts[Part::next_token]), 'm');
    texts.push_back(text + (chunk.head ? "L" : ""));
  }
  return joined(texts);
}

std::vector<std::string> balanced_layouts(const Transformer& model, std::int64_t chunks) {
  const double head =
      static_cast<double>(embedding_parameters(model, model.vocab)) / passed_parameters(model);
  const std::int64_t more = model.next_token_layers;
  const auto last = static_cast<std::size_t>(chunks - 1);
  const double weight_of_more = static_cast<double>(more) * (1 + head);
  const double mean =
      (static_cast<double>(model.layers) + head + weight_of_more) / static_cast<double>(chunks);
  // Multi-token prediction comes after the last block: beside the head, or before it where the head
  // is load enough for a chunk.
  const bool head_alone = more > 0 && chunks >= 4 && 2 * head >= mean;
  const std::size_t place_of_more = head_alone ? last - 1 : last;
  std::vector<std::string> layouts;
  for (const double embedding : {0.0, 1.0}) {
    std::vector<double> loads(last + 1);
    loads.front() = embedding;
    loads[last] += head_alone ? kNoBlocks : head;
    loads[place_of_more] += weight_of_more;
    const std::vector<std::int64_t> dealt = level(loads, model.layers);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i <= last; ++i) {
      std::string text = i == 0 ? "E" : "";
      text += std::string(static_cast<std::size_t>(dealt[i]), 't');
      if (i == place_of_more) text += std::string(static_cast<std::size_t>(more), 'm');
      texts.push_back(text + (i == last ? "L" : ""));
    }
    std::string layout = joined(texts);
    if (std::ranges::find(layouts, layout) == layouts.end()) layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace prequel
