#include "calibrate/usual_machine.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// Runs of letters and digits, in lower case.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char raw : text + " ") {
    const auto c = static_cast<unsigned char>(raw);
    if (std::isalnum(c) != 0) {
      word += static_cast<char>(std::tolower(c));
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

}  // namespace

std::optional<UsualMachine> usual_machine(const Library& library, const std::string& text) {
  const Document table = library.open("stand_ins", "machines");
  const Cursor root = table.root();
  expect_schema(root, "prequel/machines/1");
  const std::set<std::string> said = words_of(text);
  std::optional<UsualMachine> found;
  std::size_t most = 0;
  for (const Cursor& machine : root.at("machines").items()) {
    const std::set<std::string> words = words_of(machine.at("card").text());
    if (words.size() < most || !std::includes(said.begin(), said.end(), words.begin(), words.end()))
      continue;
    const auto device = machine.find("device");
    UsualMachine one{machine.at("cluster").text(), device ? device->text() : std::string()};
    const bool is_other = words.size() == most && (!found || one.cluster != found->cluster);
    found = is_other ? std::nullopt : std::optional(std::move(one));
    most = words.size();
  }
  return found;
}

}  // namespace prequel
