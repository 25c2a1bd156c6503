#include "cli/import/job/foreign_names.hpp"

#include <algorithm>
#include <iterator>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

ForeignNames::Names read_names(const Cursor& object) {
  ForeignNames::Names names;
  for (const auto& [name, same] : object.members()) names.emplace(name, same.text());
  return names;
}

ForeignNames::Names read_groups(const Cursor& groups) {
  ForeignNames::Names names;
  for (const Cursor& group : groups.items()) {
    (void)group.at("of");
    names.merge(read_names(group.at("names")));
  }
  return names;
}

/// Names by what they are of, the other way round.
ForeignNames::Names read_numbers(const Cursor& fields) {
  ForeignNames::Names numbers;
  for (const auto& [word, names] : fields.members()) {
    if (std::ranges::find(kNumberWords, word) == std::end(kNumberWords)) {
      names.problem("no number of a job is called so");
      continue;
    }
    for (const Cursor& name : names.items()) numbers.emplace(name.text(), word);
  }
  return numbers;
}

/// The value for the longest ending of `name` that begins behind one of these letters, or for all
/// of it; nothing if there is none.
const std::string* of_ending(const ForeignNames::Names& map, std::string_view name, char between) {
  while (true) {
    if (const auto found = map.find(name); found != map.end()) return &found->second;
    const std::size_t next = name.find(between);
    if (next == std::string_view::npos) return nullptr;
    name.remove_prefix(next + 1);
  }
}

}  // namespace

const std::string* ForeignNames::shape_number(std::string_view name) const {
  return of_ending(shape_numbers, name, '_');
}

const std::string* named_by_path(const ForeignNames::Names& names, std::string_view path) {
  return of_ending(names, path, '.');
}

ForeignNames read_foreign_names(const Document& file) {
  const Cursor root = file.root();
  expect_schema(root, "prequel/foreign-names/1");
  (void)root.find("origin");
  ForeignNames names;
  names.flags = read_groups(root.at("flags"));
  names.keys = read_groups(root.at("keys"));
  names.keys_off = read_names(root.at("keys_off"));
  names.numbers = read_numbers(root.at("numbers"));
  names.shape_numbers = read_numbers(root.at("shape_numbers"));
  file.finish();
  return names;
}

}  // namespace prequel
