#include "models/job/usual_machine.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

/// Returns the text without the number of cards before it: "h100" of "8xh100".
std::string without_count(const std::string& text) {
  const std::size_t letter = text.find_first_not_of("0123456789");
  const bool counts = letter != std::string::npos && letter > 0 && text[letter] == 'x';
  return counts ? text.substr(letter + 1) : text;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : lower_case(text + " ")) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

std::optional<UsualMachine> usual_machine(const Document& machines, const std::string& text) {
  const Cursor root = machines.root();
  expect_schema(root, "prequel/machines/1");
  const std::vector<std::string> said = words_of(without_count(lower_case(text)));
  const auto is_said = [&](const std::string& word) {
    return std::ranges::find(said, word) != said.end();
  };
  std::optional<UsualMachine> found;
  std::size_t most = 0;
  for (const Cursor& machine : root.at("machines").items()) {
    const std::vector<std::string> card = words_of(machine.at("card").text());
    if (card.size() < most || !std::ranges::all_of(card, is_said)) continue;
    const auto device = machine.find("device");
    UsualMachine one{machine.at("cluster").text(), device ? device->text() : std::string()};
    const bool is_other = card.size() == most && (!found || one.cluster != found->cluster);
    found = is_other ? std::nullopt : std::optional(std::move(one));
    most = card.size();
  }
  return found;
}

}  // namespace prequel
