#include "calibrate/validate/usual_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/schema.hpp"
#include "models/job/library.hpp"
#include "models/job/usual_machine.hpp"
#include "models/stack/release.hpp"

namespace prequel {
namespace {

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

std::optional<std::string> usual_device(const Library& library, const std::string& text) {
  const auto machine = usual_machine(library.open("stand_ins", "machines"), text);
  if (!machine) return std::nullopt;
  if (!machine->device.empty()) return machine->device;
  return library.open("clusters", machine->cluster).root().at("device").text();
}

bool is_other_card(const Library& library, const std::string& text, const Device& device) {
  const auto named = usual_device(library, text);
  if (!named) return false;
  if (card_of(*named) != card_of(device.name)) {
    const Device other = library.open("devices", *named).read_once(read_device);
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

namespace {

/// A framework without the digit of its generation: "pytorch-fsdp" of "pytorch-fsdp2".
std::string without_generation(std::string framework) {
  while (!framework.empty() && framework.back() >= '0' && framework.back() <= '9') {
    framework.pop_back();
  }
  return framework;
}

/// Tests whether a name is one of a known framework, but for a letter or two.
bool is_mistyped(const std::string& asked, const std::vector<std::string>& known) {
  const std::string framework = release_of(asked).framework;
  std::vector<std::string> frameworks;
  for (const std::string& name : known) frameworks.push_back(release_of(name).framework);
  const auto other = nearest(framework, frameworks);
  return other && without_generation(*other) != without_generation(framework);
}

/// The file of that name, or the nearest release of its framework; nothing where no file is of it.
/// Throws InputError for a broken file, and for a name that is a known one but for a letter or two.
std::optional<Document> known_stack(const Library& library, const std::string& asked) {
  try {
    return library.open("software", asked);
  } catch (const InputError&) {
    if (library.means_file("software", asked)) throw;
    if (is_mistyped(asked, library.names("software"))) throw;
    return std::nullopt;
  }
}

/// The year that the release names, else the row's; nothing where neither says one.
std::optional<int> year_of(const MeasuredRun& run, const std::string& asked) {
  if (const auto year = year_of(release_of(asked))) return year;
  const auto year = parse_integer(run.date.substr(0, run.date.find('-')));
  return year ? std::optional(static_cast<int>(*year)) : std::nullopt;
}

/// The entry of a year, of a list in the order of time; the last where no year is said.
std::string of_year(const Cursor& list, std::optional<int> year, std::string_view key) {
  constexpr std::int64_t kFirst = 1990, kLast = 9999;
  std::string found;
  for (const Cursor& entry : list.items()) {
    found = entry.at(key).text();
    const auto until = entry.find("until");
    if (year && until && *year <= until->integer(kFirst, kLast)) break;
  }
  return found;
}

/// The first word of what a row calls its framework, without what runs in it: "nemo-automodel" of
/// "NeMo-AutoModel (fsdp2)".
std::string framework_of(const MeasuredRun& run) {
  const std::string said = lower_case(cell(run, "framework"));
  return said.substr(0, said.find_first_of(" +(/"));
}

/// The release in which the framework hands the model to an engine, where the row says that it
/// does: "hf-peft-deepspeed-2023" of "hf-peft-2023" by DeepSpeed.
std::string by_engine(const Document& table, const std::string& asked, const std::string& engine) {
  const std::string framework = release_of(asked).framework;
  for (const Cursor& entry : table.root().at("engines").items()) {
    if (entry.at("engine").text() != engine || entry.at("of").text() != framework) continue;
    return entry.at("as").text() + asked.substr(framework.size());
  }
  return asked;
}

/// The file of the framework's release that is nearest in time, among those for mixtures of experts
/// where the framework has some; nothing where no file is of it.
std::optional<std::string> nearest_of_framework(const Library& library, const Document& table,
                                                Release release, bool has_experts) {
  release = known_as(release, table);
  const std::vector<std::string> known = library.names("software");
  if (has_experts) {
    for (const auto& [framework, family] : table.root().at("of_experts").members()) {
      if (framework == release.framework) release.framework = family.text();
    }
  }
  return nearest_release(release, known);
}

}  // namespace

Document usual_stack(const Library& library, const MeasuredRun& run, const std::string& said,
                     bool has_experts) {
  const std::string engine = lower_case(cell(run, "engine"));
  const std::string asked =
      engine.empty() ? said : by_engine(library.open("stand_ins", "stacks"), said, engine);
  auto known = known_stack(library, asked);
  if (known && !known->json().contains("stands_for")) return std::move(*known);
  const Document table = library.open("stand_ins", "stacks");
  const Cursor root = table.root();
  expect_schema(root, "prequel/stacks/1");
  const auto year = year_of(run, asked);
  // The row's framework first: its release is that of the name, or of the row's year.
  const std::string framework = framework_of(run);
  Release release = release_of(asked);
  if (!framework.empty() && !known) release.framework = framework;
  if (release.version == kNewestVersion && year) release.version = *year;
  const auto of_family = nearest_of_framework(library, table, release, has_experts);
  if (of_family && (!known || has_experts)) {
    known = library.open("software", *of_family);
    known->set("stands_for", asked);
  }
  const auto of_another = [&] {
    const bool sharded = run.plan.zero.value_or(0) == 3;
    const char* layout = sharded ? "sharded" : has_experts ? "experts" : "whole";
    Document stack =
        library.open("software", of_year(root.at("layouts").at(layout), year, "software"));
    stack.set("stands_for", asked);
    stack.set("other_framework", "true");
    return stack;
  };
  Document stack = known ? std::move(*known) : of_another();
  const nlohmann::json::json_pointer kernel("/kernels/flash_kernel");
  if (run.plan.attention == AttentionKind::flash && !stack.json().contains(kernel)) {
    stack.set("kernels.flash_kernel", of_year(root.at("flash_kernels"), year, "kernel"));
  }
  return stack;
}

}  // namespace prequel
