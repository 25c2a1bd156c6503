#include "cli/import/named_inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"
#include "models/axes/axis_text.hpp"
#include "models/job/usual_software.hpp"
#include "models/shape/layer_pattern.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

std::optional<std::int64_t> ImportNames::whole(std::string_view path) const {
  std::optional<std::int64_t> value;
  for (const Override& override : overrides) {
    if (override.path != path) continue;
    const auto number = parse_integer(override.value);
    value = number && *number > 0 ? std::optional<std::int64_t>(*number) : std::nullopt;
  }
  return value;
}

NamedInputs look_up(const ImportedJob& job, const ImportNames& names) {
  NamedInputs inputs;
  if (names.library == nullptr) return inputs;
  try {
    if (job.cluster)
      inputs.cluster = names.library->open("clusters", *job.cluster).read_once(read_cluster);
  } catch (const InputError&) {
  }
  try {
    std::optional<std::string> software = job.software;
    if (!software && inputs.cluster) {
      software = usual_software(*names.library, *inputs.cluster,
                                job.model.experts.count.value_or(0) > 1, job.plan);
    }
    if (software)
      inputs.software = names.library->open("software", *software).read_once(read_software);
  } catch (const InputError&) {
  }
  return inputs;
}

namespace {

class Completion {
 public:
  Completion(ImportedJob& job, const ImportNames& names)
      : job_(job), names_(names), inputs_(look_up(job, names)) {}

  void run() {
    if (!job_.plan.gbs && (job_.says("script") || job_.says("deepspeed_config")))
      tell_missing_batch();
    note_facts();
    follow_rules("devices and length", job_);
    const bool megatron = job_.says("--num-layers");  // in a script or a log
    if (!job_.says("script") && !job_.says("deepspeed_config") && !megatron) return;
    follow_rules("missing configurations", job_);
    follow_rules("precision", job_);
    if (!job_.says("script") && !megatron) {
      follow_overlap();
      return follow_rules("recomputation", job_);
    }
    follow_rules("micro batch and chunks", job_);
    if (!job_.model.vocab && !names_.replaces("model.vocab_size")) complete_vocabulary();
    fill_up_vocabulary();
    follow_rules("width and attention", job_);
    follow_overlap();
  }

 private:
  /// Tests whether a job without a micro batch is predicted with 1.
  [[nodiscard]] bool assumes_micro_batch() const {
    return (job_.says("script") || job_.says("--num-layers")) && !names_.replaces("plan.mbs");
  }
  void assume(std::string text) { job_.report.assumed.push_back(std::move(text)); }
  void leave_out(std::string text) { job_.report.left_out.push_back(std::move(text)); }

  /// Notes what rules ask of the user's words and of the stack.
  void note_facts() {
    for (const Override& override : names_.overrides) {
      job_.set("user." + override.path, override.value);
    }
    job_.set("stack.precision", "bf16");
    if (!inputs_.software) return;
    const auto& usual = inputs_.software->defaults;
    job_.set("stack.name", inputs_.software->name);
    job_.set("stack.framework", inputs_.software->framework);
    const GradientOverlap overlap = inputs_.software->communication.gradient_overlap;
    job_.set("stack.gradient_overlap", std::string(name(overlap)));
    if (usual.overlap) job_.set("stack.overlap", cell_of(*usual.overlap));
    const auto note = [&](const char* axis, const auto& value) {
      if (value) job_.set(axis, std::string(name(*value)));
    };
    note("stack.precision", usual.precision);
    note("stack.attention", usual.attention);
    note("stack.recompute", usual.recompute);
  }

  void tell_missing_batch() {
    const PlanRequest& plan = job_.plan;
    const std::string mbs = fmt::format("mbs {}", plan.mbs.value_or(1));
    std::vector<std::string> missing;
    if (!plan.mbs && !assumes_micro_batch()) missing.emplace_back("the micro batch");
    if (!plan.dp && !job_.unresolved_degrees().empty()) {
      missing.push_back(job_.unresolved_degrees());
    }
    if (!plan.dp && !job_.value("devices")) {
      if (!plan.nodes) missing.emplace_back("the number of nodes (--nodes)");
      if (!job_.value("devices_per_node"))
        missing.emplace_back("the devices of a node (--cluster)");
    }
    leave_out(
        fmt::format("gbs: it would be {} x {} accumulation steps x dp; missing: {}; --gbs N "
                    "says it",
                    mbs, job_.value("gradient_accumulation_steps").value_or(1),
                    missing.empty() ? "a dp that divides the devices"
                                    : fmt::format("{}", fmt::join(missing, ", "))));
  }

  /// Finds a known model of the same sublayers, by letters, and the same width.
  [[nodiscard]] std::optional<Transformer> model_of_pattern() const {
    const auto own = job_.model.mixers.find("layers_pattern");
    if (own == job_.model.mixers.end() || !job_.model.hidden) return std::nullopt;
    const auto parsed = parse_layer_pattern(own->second.substr(1, own->second.size() - 2));
    const auto* said = std::get_if<LayerPattern>(&parsed);
    if (said == nullptr) return std::nullopt;
    const Library all = names_.library->apart();
    for (const std::string& name : all.names("models")) {
      try {
        Transformer model = all.open("models", name).read_once(read_transformer);
        if (model.pattern == said->layers && model.hidden == *job_.model.hidden) return model;
      } catch (const InputError&) {  // told where the model is asked for
      }
    }
    return std::nullopt;
  }

  /// The rows that the tokenizer that the files name has, else those of a known hybrid, else as
  /// many as the table of tokenizers has for none: a large model's time hardly depends on them.
  void complete_vocabulary() {
    if (names_.library == nullptr) {
      return leave_out("vocab_size: no file says it; --set model.vocab_size=N does");
    }
    const std::int64_t extra = job_.value("extra_vocab").value_or(0);
    for (const std::string& named : job_.tokenizer) {
      const Tokenizer* found = job_.names->tokenizer(named);
      if (found == nullptr) continue;
      job_.model.vocab = extra > 0 ? found->words + extra : found->vocab;
      return assume(fmt::format("vocab_size {}: that of the {} tokenizer{}", *job_.model.vocab,
                                found->name, extra > 0 ? fmt::format(" and {} more", extra) : ""));
    }
    if (const auto same = model_of_pattern()) {
      job_.model.vocab = same->vocab;
      return assume(fmt::format("vocab_size {}: that of {}, whose sublayers are the same",
                                same->vocab, same->name));
    }
    job_.model.vocab = job_.names->usual_vocab;
    const bool none = job_.tokenizer.empty() || job_.tokenizer.front().empty();
    const std::string named =
        none ? "no file says it" : printable(job_.tokenizer.front(), 100) + " is not known";
    assume(
        fmt::format("vocab_size {}: {}; --set model.vocab_size=N says it (it matters for small "
                    "models)",
                    job_.names->usual_vocab, named));
  }

  /// Rows that a coarser `--make-vocab-size-divisible-by` than the software's adds.
  void fill_up_vocabulary() {
    constexpr const char* kFlag = "--make-vocab-size-divisible-by";
    const std::int64_t tp = job_.plan.tp.value_or(1);
    const std::int64_t multiple = job_.value("vocab_multiple").value_or(0);
    const std::int64_t own = inputs_.software ? inputs_.software->vocab_multiple : 128;
    const bool counts = multiple > 0 && tp > 0 && tp < (1 << 20) && job_.model.vocab;
    if (!counts || job_.value("padded_vocab") || names_.replaces("model.vocab_size")) return;
    const std::int64_t rows = padded_vocab(*job_.model.vocab, tp, multiple);
    const std::int64_t usual = padded_vocab(*job_.model.vocab, tp, own);
    if (rows > usual && padded_vocab(rows, tp, own) == rows) {
      job_.model.vocab = rows;
      assume(fmt::format("vocab_size {}: filled up by {} {}", rows, kFlag, multiple));
    } else if (rows != usual) {
      leave_out(
          fmt::format("{} {}: predicted with {} rows of the embedding, which {} tensor ranks "
                      "share, not {}",
                      kFlag, multiple, usual, tp, rows));
    }
  }

  /// Notes whether gradients are reduced beside passes where the files differ from the stack.
  void follow_overlap() {
    if (names_.replaces("plan.overlap") ||
        names_.replaces("software.communication.gradient_overlap")) {
      return;
    }
    follow_rules(job_.says("deepspeed") ? "overlap of DeepSpeed" : "overlap of Megatron", job_);
  }

  ImportedJob& job_;
  const ImportNames& names_;
  NamedInputs inputs_;
};

}  // namespace

bool ImportNames::replaces(std::string_view path) const {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const Override& override) { return override.path == path; });
}

namespace {

/// The fields of a plan that flags set over those of files, and the flags of scripts that say them.
struct Replaced {
  const char* path;
  std::optional<std::int64_t> PlanRequest::*field;
  const char* flag;
};
constexpr Replaced kReplaced[] = {{"plan.nodes", &PlanRequest::nodes, "--nnodes"},
                                  {"plan.dp", &PlanRequest::dp, ""},
                                  {"plan.tp", &PlanRequest::tp, "--tensor-model-parallel-size"},
                                  {"plan.pp", &PlanRequest::pp, "--pipeline-model-parallel-size"},
                                  {"plan.cp", &PlanRequest::cp, "--context-parallel-size"},
                                  {"plan.mbs", &PlanRequest::mbs, "--micro-batch-size"},
                                  {"plan.gbs", &PlanRequest::gbs, "--global-batch-size"}};

/// Nodes of another size than the files have them: as many devices, or those of the nodes asked
/// for.
void use_nodes_of(const Cluster& cluster, bool nodes_asked, ImportedJob& job) {
  const std::int64_t devices = cluster.devices_per_node;
  if (job.value("devices_per_node") == devices) return;
  if (job.value("devices") && *job.value("devices") < devices && !nodes_asked) {
    job.plan.nodes.reset();  // some devices of a node
    job.set_number("devices_per_node", devices);
    return;
  }
  if (job.value("devices_per_node") && !nodes_asked) {
    if (!job.value("devices") || *job.value("devices") % devices != 0) return;
    job.plan.nodes = *job.value("devices") / devices;
    job.report.assumed.push_back(fmt::format("nodes {}: {} devices in nodes of {}", *job.plan.nodes,
                                             *job.value("devices"), cluster.name));
  }
  job.set_number("devices_per_node", devices);
  if (nodes_asked) job.drop("devices");
}

}  // namespace

void replace_by_names(ImportedJob& job, const ImportNames& names) {
  PlanRequest& plan = job.plan;
  bool replaced = false;
  for (const auto& [path, field, flag] : kReplaced) {
    const auto value = names.whole(path);
    if (!value) continue;
    replaced = replaced || plan.*field != value;
    plan.*field = value;
    job.drop(std::string("open.") + flag);
  }
  const bool nodes = names.replaces("plan.nodes");
  if (replaced) {
    const bool degrees =
        names.replaces("plan.tp") || names.replaces("plan.pp") || names.replaces("plan.cp");
    if (!names.replaces("plan.dp") && (nodes || degrees)) plan.dp.reset();
    if (names.replaces("plan.dp") && !nodes) plan.nodes.reset();
    if (names.replaces("plan.dp") || nodes) job.drop("devices");
    if (names.replaces("plan.dp")) job.drop("tasks_per_node");
    // A global batch that is said stays, and is reached in other steps.
    if (plan.gbs && !names.replaces("plan.gbs")) job.drop("gradient_accumulation_steps");
  }
  follow_rules("devices", job);
  if (const NamedInputs inputs = look_up(job, names); inputs.cluster) {
    use_nodes_of(*inputs.cluster, nodes, job);
  }
}

void complete_by_names(ImportedJob& job, const ImportNames& names) {
  Completion(job, names).run();
}

}  // namespace prequel
