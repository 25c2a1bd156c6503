#include "calibrate/validate/run_inputs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/validate/run_words.hpp"
#include "calibrate/validate/usual_inputs.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/plan_request.hpp"
#include "models/job/data_set.hpp"
#include "models/job/spelled_plan.hpp"
#include "models/job/usual_machine.hpp"
#include "models/job/usual_software.hpp"
#include "models/plan/lengths.hpp"

namespace prequel {
namespace {

constexpr long long kMostDevices = 1024;  ///< of a node

/// Returns the cells of a row that decide which files it is predicted from, and with which of their
/// fields replaced.
std::string files_key(const MeasuredRun& run, bool has_experts) {
  return run.cluster + "\n" + run.software + "\n" + cell(run, "launch") + "\n" +
         cell(run, "clock_ghz") + "\n" + run.date + "\n" + run.source + "\n" + cell(run, "gpu") +
         "\n" + cell(run, "gpus_per_node") + "\n" + cell(run, "attention") + "\n" +
         cell(run, "framework") + "\n" + cell(run, "engine") + "\n" +
         (trains_whole_adapters(run.plan) ? "adapters" : "") +
         (run.plan.zero.value_or(0) == 3 ? "sharded" : "") + (has_experts ? "experts" : "");
}

/// The layout that a row asks for. Its nodes are said only where they are full; a row on part of a
/// node is judged by its degrees. A row that does not say its GPUs ran on whole nodes; one that
/// does not say its data-parallel degree on all of its GPUs.
PlanRequest requested_plan(const MeasuredRun& run, const Cluster& cluster) {
  PlanRequest plan = run.plan;
  const bool whole_nodes =
      run.nodes && (!run.gpus || *run.gpus == *run.nodes * cluster.devices_per_node);
  if (whole_nodes) plan.nodes = run.nodes;
  if (!plan.dp && run.gpus && !whole_nodes) {
    const std::int64_t replica = ranks_of_replica(plan);
    if (*run.gpus % replica != 0) {
      throw InputError(fmt::format("dp: empty, and {} gpus are no multiple of {} = {}", *run.gpus,
                                   degrees_of_replica(), replica));
    }
    plan.dp = *run.gpus / replica;
  }
  return plan;
}

}  // namespace

RunInputs::RunInputs(const Library& library, std::vector<Override> overrides)
    : library_(library), overrides_(std::move(overrides)) {
  const std::vector<std::string> inputs{"cluster", "device", "software"};
  for (const Override& override : overrides_) {
    const std::string input = override.path.substr(0, override.path.find('.'));
    if (std::ranges::find(inputs, input) != inputs.end()) continue;
    throw InputError(override.from + " " + override.path + "=" + override.value +
                     ": rows say what was run; only fields of cluster., device. and software. can "
                     "be set" +
                     did_you_mean(input, inputs));
  }
}

std::shared_ptr<const Inputs> RunInputs::files(const MeasuredRun& run, bool has_experts) {
  const std::string key = files_key(run, has_experts);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Inputs>& known = known_[key];
  if (!known) known = std::make_shared<const Inputs>(read(run, has_experts, overrides_));
  return known;
}

void RunInputs::check_overrides(const std::vector<MeasuredRun>& runs) const {
  if (overrides_.empty()) return;
  std::optional<InputError> first;
  std::set<std::string> tried;
  for (const MeasuredRun& run : runs) {
    const bool has_experts = !cell(run, "experts").empty();
    if (!tried.insert(files_key(run, has_experts)).second) continue;
    try {
      static_cast<void>(read(run, has_experts, {}));
    } catch (const InputError&) {
      continue;  // wrong without the overrides, too
    }
    try {
      static_cast<void>(read(run, has_experts, overrides_));
      return;
    } catch (const InputError& error) {
      if (!first) first = error;
    }
  }
  if (first) throw InputError(first->problems());
}

namespace {

/// The cluster as it was on a day ("2022-02-25"): its file lists what changed from when on, as JSON
/// merge patches (RFC 7396). Without a day it is as the file begins.
Document on_day(Document cluster, const std::string& day) {
  nlohmann::json value = cluster.json();
  if (day.empty() || !value.is_object() || !value.contains("changes")) return cluster;
  const nlohmann::json changes = value["changes"];
  bool changed = false;
  for (const nlohmann::json& each : changes) {
    const bool sound = each.is_object() && each.contains("from") && each["from"].is_string() &&
                       each.contains("change");
    if (!sound || each["from"].get<std::string>() > day) continue;
    value.merge_patch(each["change"]);
    changed = true;
  }
  if (!changed) return cluster;
  return Document::from(cluster.file(), value);
}

/// Returns the build that a site's tables mean by a release, where its file says so: for all,
/// "RELEASE", or for those whose source has a word, "RELEASE in WORD".
std::string build_of(const Document& cluster, const std::string& release,
                     const std::string& source) {
  const nlohmann::json& value = cluster.json();
  if (!value.is_object() || !value.contains("builds")) return release;
  const nlohmann::json& builds = value["builds"];
  if (!builds.is_object()) return release;
  for (const auto& [name, build] : builds.items()) {
    const std::string of_source = release + " in ";
    if (!name.starts_with(of_source) || !build.is_string()) continue;
    if (source.find(name.substr(of_source.size())) != std::string::npos) return build;
  }
  const bool known = builds.contains(release) && builds[release].is_string();
  return known ? builds[release].get<std::string>() : release;
}

std::vector<std::string> parts_of_name(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '-') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Tests whether a name is a known one but for a letter or two; another site has another word.
bool is_mistyped_site(const std::string& asked, const std::vector<std::string>& known) {
  const auto other = nearest(asked, known);
  if (!other) return false;
  const std::vector<std::string> parts = parts_of_name(asked), others = parts_of_name(*other);
  if (parts.size() != others.size()) return true;
  return std::equal(parts.begin(), parts.end(), others.begin(),
                    [](const std::string& part, const std::string& that) {
                      return nearest(part, {that}).has_value();
                    });
}

/// A machine of as many devices a node, and as many adapters for each of them.
void set_devices_per_node(Document& cluster, std::int64_t devices) {
  const nlohmann::json node = cluster.json().at("fabric").at("node");
  const auto usual = node.at("devices").get<std::int64_t>();
  if (devices == usual) return;
  cluster.set("fabric.node.devices", fmt::format("{}", devices));
  const auto adapters = node.at("nics").at("count").get<std::int64_t>();
  cluster.set("fabric.node.nics.count",
              fmt::format("{}", std::max<std::int64_t>(1, adapters * devices / usual)));
}

}  // namespace

Document cluster_document(const Library& library, const MeasuredRun& run) {
  try {
    return library.open("clusters", run.cluster);
  } catch (const InputError& unknown) {
    if (library.means_file("clusters", run.cluster)) throw;
    const std::string card = cell(run, "gpu");
    if (card.empty() && is_mistyped_site(run.cluster, library.names("clusters"))) throw;
    const auto machine =
        usual_machine(library.open("stand_ins", "machines"), card.empty() ? run.cluster : card);
    if (!machine) {
      if (card.empty()) throw;
      throw InputError(fmt::format("{}; nor is a machine with gpu {} known",
                                   unknown.problems().front(), in_quotes(card)));
    }
    Document cluster = library.open("clusters", machine->cluster);
    cluster.set("stands_for", run.cluster.empty() ? "(none is named)" : run.cluster);
    if (!machine->device.empty()) cluster.set("device", machine->device);
    if (const std::string said = cell(run, "gpus_per_node"); !said.empty()) {
      const auto devices = parse_integer(said);
      if (!devices || *devices < 1 || *devices > kMostDevices) {
        throw InputError(fmt::format("gpus_per_node: expected a whole number from 1 to {}, got {}",
                                     kMostDevices, in_quotes(said)));
      }
      set_devices_per_node(cluster, *devices);
    }
    return cluster;
  }
}

Inputs RunInputs::read(const MeasuredRun& run, bool has_experts,
                       const std::vector<Override>& overrides) const {
  Inputs files;
  Document cluster = on_day(cluster_document(library_, run), run.date);
  apply_overrides(cluster, overrides, "cluster");
  files.cluster = cluster.read_once(read_cluster);
  Document device = library_.open("devices", files.cluster.device);
  if (run.clock_ghz) device.set("clock_ghz", fmt::format("{}", *run.clock_ghz));
  apply_overrides(device, overrides, "device");
  files.device = device.read_once(read_device);
  const std::string usual = usual_software(library_, files.cluster, has_experts, run.plan);
  const std::string asked =
      build_of(cluster, run.software.empty() ? usual : run.software, run.source);
  Document software = usual_stack(library_, run, asked, has_experts);
  if (run.launch) software.set("launch", std::string(name(*run.launch)));
  if (const auto kernel = attention_kernel(cell(run, "attention"))) {
    software.set("kernels.flash_kernel", *kernel);
  }
  apply_overrides(software, overrides, "software");
  files.software = software.read_once(read_software);
  note_edits(device, overrides, "device", files.edited);
  note_edits(cluster, overrides, "cluster", files.edited);
  note_edits(software, overrides, "software", files.edited);
  return files;
}

namespace {

/// Without one of these, a row does not say its model's shape.
constexpr std::array<const char*, 4> kShape{"layers", "hidden", "heads", "vocab"};

std::string first_empty(const MeasuredRun& run) {
  const auto is_empty = [&](const char* column) { return cell(run, column).empty(); };
  return *std::find_if(kShape.begin(), kShape.end(), is_empty);
}

}  // namespace

Transformer RunInputs::model_of(const MeasuredRun& run) {
  const std::lock_guard lock(mutex_);
  auto [found, is_new] = shipped_.try_emplace(run.model_name);
  if (is_new) {
    const auto file = library_.model_file(run.model_name);
    if (file) found->second = library_.open("models", *file).read_once(read_transformer);
  }
  if (!found->second) {
    if (run.model) return *run.model;
    throw InputError(fmt::format("{}: empty, and model \"{}\" is not a shipped one{}",
                                 first_empty(run), run.model_name,
                                 did_you_mean(run.model_name, library_.names("models"))));
  }
  if (run.model) return completed(*run.model, *found->second, run);
  // A row that only names a shipped model has all of it; one that says half of a shape means none.
  for (const char* column : {"layers", "hidden", "heads", "vocab", "kv_heads", "ffn_hidden",
                             "head_dim", "experts", "top_k", "expert_ffn"}) {
    if (!cell(run, column).empty()) throw InputError(first_empty(run) + ": empty");
  }
  return completed(*found->second, *found->second, run);
}

std::vector<std::string> RunInputs::unheeded(const MeasuredRun& run, const Scenario& scenario) {
  std::vector<std::string> told;
  if (const std::string card = cell(run, "gpu"); !card.empty()) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = other_cards_.try_emplace({card, scenario.device.name});
    if (is_new) known->second = is_other_card(library_, card, scenario.device);
    if (known->second) {
      told.push_back(
          fmt::format("gpu {}: cluster {} has {}, which is priced; another cluster would "
                      "do",
                      printable(card), scenario.cluster.name, scenario.device.name));
    }
  }
  for (const std::string& column : run.unknown) {
    told.push_back(
        fmt::format("column {}: not known, so that nothing is made of it", printable(column)));
  }
  return told;
}

void RunInputs::refuse_unpriced(const MeasuredRun& run) {
  if (run.unknown.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (unpriced_.empty()) unpriced_ = read_unpriced(library_.open("import", "unpriced"));
  }
  for (const std::string& column : run.unknown) {
    const std::string value = cell(run, column);
    if (const UnpricedRow* row = asked_for(unpriced_, column, value, NameSource::config)) {
      throw InputError(fmt::format("column {} {}: {}", printable(column), printable(value),
                                   unpriced_text(*row)));
    }
  }
}

namespace {

/// Returns the row with the lengths of the data set that its `length_distribution` begins with,
/// where one of that name ships, and without a sequence length of its own the longest of them.
MeasuredRun with_lengths(const Library& library, const MeasuredRun& run) {
  MeasuredRun sized = run;
  const std::string said = lower_case(cell(run, "length_distribution"));
  const std::string name = said.substr(0, said.find_first_of(", "));
  if (name.empty() || run.plan.lengths) return sized;
  const std::vector<std::string> known = library.names("lengths");
  if (std::ranges::find(known, name) == known.end()) return sized;
  const DataSet data = library.open("lengths", name).read_once(read_data_set);
  sized.plan.lengths = data.distribution;
  if (!cell(run, "seq_len").empty()) return sized;
  sized.plan.seq_len = sized.seq_len = read_lengths(data.distribution)->most;
  return sized;
}

}  // namespace

ResolvedScenario RunInputs::scenario(const MeasuredRun& row) {
  refuse_unpriced(row);
  const MeasuredRun run = with_lengths(library_, row);
  if (!run.seq_len) throw InputError("seq_len: empty");
  Transformer model = model_of(run);
  Inputs inputs = *files(run, model.has_experts());
  inputs.model = std::move(model);
  inputs.model.max_positions = *run.seq_len;
  if (!inputs.cluster.stands_for.empty()) {  // nobody knows how large it is
    const std::int64_t per_node = inputs.cluster.devices_per_node;
    const std::int64_t filled = (run.gpus.value_or(1) + per_node - 1) / per_node;
    inputs.cluster.nodes = std::max({inputs.cluster.nodes, filled, run.nodes.value_or(1)});
  }
  PlanRequest plan = requested_plan(run, inputs.cluster);
  // Recipes that name no kernel for chosen keys run without one, Megatron's default.
  if (!plan.attention && inputs.model.chooses_keys() && !splits_sequences(plan)) {
    plan.attention = AttentionKind::unfused;
  }
  return resolve(inputs, plan);
}

}  // namespace prequel
