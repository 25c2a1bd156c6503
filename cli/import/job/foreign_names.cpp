#include "cli/import/job/foreign_names.hpp"

#include <algorithm>

#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

/// The value for the longest ending of `name` that begins behind one of these letters, or for all
/// of it; nothing if there is none.
const std::string* of_ending(const ForeignNames::Names& map, std::string_view name, char between) {
  while (true) {
    if (const std::string* found = find_name(map, name)) return found;
    const std::size_t next = name.find(between);
    if (next == std::string_view::npos) return nullptr;
    name.remove_prefix(next + 1);
  }
}

}  // namespace

const std::shared_ptr<const ForeignNames>& ForeignNames::none() {
  static const auto none = std::make_shared<const ForeignNames>();
  return none;
}

const ForeignNames::Words& ForeignNames::words_of(std::string_view list) const {
  static const Words none;
  const Words* const found = find_name(lists_of_words, list);
  return found == nullptr ? none : *found;
}

bool ForeignNames::has_word(std::string_view list, std::string_view word) const {
  return std::ranges::find(words_of(list), word) != words_of(list).end();
}

const Framework& ForeignNames::framework(std::string_view name) const {
  static const Framework none;
  const auto found = frameworks.find(name);
  return found == frameworks.end() ? none : found->second;
}

const Tokenizer* ForeignNames::tokenizer(std::string_view text) const {
  const std::string lower = lower_case(std::string(text));
  const auto found = std::ranges::find_if(tokenizers, [&](const Tokenizer& one) {
    return std::ranges::any_of(
        one.names, [&](const std::string& part) { return lower.find(part) != std::string::npos; });
  });
  return found == tokenizers.end() ? nullptr : &*found;
}

const std::string* ForeignNames::shape_number(std::string_view name) const {
  return of_ending(shape_numbers, name, '_');
}

const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path) {
  return of_ending(names, path, '.');
}

}  // namespace prequel
