#include "calibrate/validate/usual_machine.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// Runs of letters and digits, in lower case.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : lower_case(text + " ")) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

/// The numbers of a text that stand before "gb".
std::vector<double> gigabytes_of(const std::string& text) {
  std::vector<double> sizes;
  for (const std::string& word : words_of(text)) {
    if (!word.ends_with("gb")) continue;
    const auto size = parse_integer(word.substr(0, word.size() - 2));
    if (size) sizes.push_back(static_cast<double>(*size));
  }
  return sizes;
}

/// Tests whether sizes of memory are the same, by 10^9 or 2^30 bytes, whole or without what is
/// reserved.
bool is_as_large(double bytes, Bytes memory) {
  constexpr double kSlack = 0.15;
  return std::abs(bytes / memory.value - 1.0) <= kSlack;
}

/// "h100" of "h100-sxm-96gb".
std::string card_of(const std::string& device) {
  return device.substr(0, device.find('-'));
}

}  // namespace

bool is_other_card(const Library& library, const std::string& text, const Device& device) {
  const auto machine = usual_machine(library, text);
  if (!machine) return false;
  std::string named = machine->device;
  if (named.empty()) {
    named = library.open("clusters", machine->cluster).root().at("device").text();
  }
  if (card_of(named) != card_of(device.name)) {
    const Device other = library.open("devices", named).read_once(read_device);
    const auto half = static_cast<std::size_t>(Precision::fp16);
    const bool alike =
        other.peaks[half] == device.peaks[half] && is_as_large(other.memory.value, device.memory);
    if (!alike) return true;
  }
  const std::vector<double> sizes = gigabytes_of(text);
  return !sizes.empty() && std::ranges::none_of(sizes, [&](double size) {
    return is_as_large(size * 1e9, device.memory) || is_as_large(size * kGiB, device.memory);
  });
}

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
