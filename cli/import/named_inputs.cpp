#include "cli/import/named_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/shell/launch_script.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"
#include "models/axes/axis_text.hpp"
#include "models/job/library.hpp"
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

NamedInputs look_up(const Facts& job, const ImportNames& names) {
  NamedInputs inputs;
  if (names.library == nullptr) return inputs;
  try {
    if (job.says("cluster")) {
      inputs.cluster = names.library->open("clusters", job.text("cluster")).read_once(read_cluster);
    }
  } catch (const InputError&) {
  }
  try {
    auto software = text_of("software", job);
    if (!software && inputs.cluster) {
      software = usual_software(*names.library, *inputs.cluster,
                                job.value("model.num_experts").value_or(0) > 1, plan_of(job));
    }
    if (software)
      inputs.software = names.library->open("software", *software).read_once(read_software);
  } catch (const InputError&) {
  }
  return inputs;
}

namespace {

constexpr const char* kVocabulary = "model.vocab_size";

class Completion {
 public:
  Completion(Facts& job, const ImportNames& names)
      : job_(job), names_(names), inputs_(look_up(job, names)) {}

  void run() {
    if (!job_.says("plan.gbs") && (job_.says("script") || job_.says("deepspeed_config")))
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
    if (!job_.says(kVocabulary) && !job_.says("user.model.vocab_size")) complete_vocabulary();
    fill_up_vocabulary();
    follow_rules("width and attention", job_);
    follow_overlap();
  }

 private:
  /// Tests whether a job without a micro batch is predicted with 1.
  [[nodiscard]] bool assumes_micro_batch() const {
    return (job_.says("script") || job_.says("--num-layers")) && !job_.says("user.plan.mbs");
  }
  void assume_rows(std::int64_t rows, const std::string& why) {
    job_.assume(kVocabulary, std::to_string(rows), fmt::format("vocab_size {}: {}", rows, why));
  }
  void leave_out(std::string text) { job_.report.left_out.push_back(std::move(text)); }

  /// Notes what rules ask of the stack.
  void note_facts() {
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
    const std::string mbs = fmt::format("mbs {}", job_.value("plan.mbs").value_or(1));
    const bool open = !job_.says("plan.dp");
    std::vector<std::string> missing;
    if (!job_.says("plan.mbs") && !assumes_micro_batch()) missing.emplace_back("the micro batch");
    for (const char* flag : {"--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                             "--context-parallel-size", "--ds-sequence-parallel-size"}) {
      if (open && job_.says(fmt::format("open.{}", flag))) missing.emplace_back(flag);
    }
    if (open && !job_.value("devices")) {
      if (!job_.says("plan.nodes")) missing.emplace_back("the number of nodes (--nodes)");
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
    const std::string& own = job_.text(kMixers + "layers_pattern");
    const auto hidden = job_.value("model.hidden_size");
    if (own.empty() || !hidden) return std::nullopt;
    const auto parsed = parse_layer_pattern(own.substr(1, own.size() - 2));
    const auto* said = std::get_if<LayerPattern>(&parsed);
    if (said == nullptr) return std::nullopt;
    const Library all = names_.library->apart();
    for (const std::string& name : all.names("models")) {
      try {
        Transformer model = all.open("models", name).read_once(read_transformer);
        if (model.pattern == said->layers && model.hidden == *hidden) return model;
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
      const std::int64_t rows = extra > 0 ? found->words + extra : found->vocab;
      return assume_rows(rows, fmt::format("that of the {} tokenizer{}", found->name,
                                           extra > 0 ? fmt::format(" and {} more", extra) : ""));
    }
    if (const auto same = model_of_pattern()) {
      return assume_rows(same->vocab,
                         fmt::format("that of {}, whose sublayers are the same", same->name));
    }
    const bool none = job_.tokenizer.empty() || job_.tokenizer.front().empty();
    const std::string named =
        none ? "no file says it" : printable(job_.tokenizer.front(), 100) + " is not known";
    assume_rows(job_.names->usual_vocab,
                named + "; --set model.vocab_size=N says it (it matters for small models)");
  }

  /// Rows that a coarser `--make-vocab-size-divisible-by` than the software's adds.
  void fill_up_vocabulary() {
    constexpr const char* kFlag = "--make-vocab-size-divisible-by";
    const std::int64_t tp = job_.value("plan.tp").value_or(1);
    const auto vocab = job_.value(kVocabulary);
    const std::int64_t multiple = job_.value("vocab_multiple").value_or(0);
    const std::int64_t own = inputs_.software ? inputs_.software->vocab_multiple : 128;
    const bool counts = multiple > 0 && tp > 0 && tp < (1 << 20) && vocab;
    if (!counts || job_.value("padded_vocab") || job_.says("user.model.vocab_size")) return;
    const std::int64_t rows = padded_vocab(*vocab, tp, multiple);
    const std::int64_t usual = padded_vocab(*vocab, tp, own);
    if (rows > usual && padded_vocab(rows, tp, own) == rows) {
      assume_rows(rows, fmt::format("filled up by {} {}", kFlag, multiple));
    } else if (rows != usual) {
      leave_out(
          fmt::format("{} {}: predicted with {} rows of the embedding, which {} tensor ranks "
                      "share, not {}",
                      kFlag, multiple, usual, tp, rows));
    }
  }

  /// Notes whether gradients are reduced beside passes where the files differ from the stack.
  void follow_overlap() {
    if (job_.says("user.plan.overlap") ||
        job_.says("user.software.communication.gradient_overlap")) {
      return;
    }
    follow_rules(job_.says("deepspeed") ? "overlap of DeepSpeed" : "overlap of Megatron", job_);
  }

  Facts& job_;
  const ImportNames& names_;
  NamedInputs inputs_;
};

/// The fields of a plan that flags set over those of files, and the flags of scripts that say them.
struct Replaced {
  const char* path;
  const char* flag;
};
constexpr Replaced kReplaced[] = {{"plan.nodes", "--nnodes"},
                                  {"plan.dp", ""},
                                  {"plan.tp", "--tensor-model-parallel-size"},
                                  {"plan.pp", "--pipeline-model-parallel-size"},
                                  {"plan.cp", "--context-parallel-size"},
                                  {"plan.mbs", "--micro-batch-size"},
                                  {"plan.gbs", "--global-batch-size"}};

/// Nodes of another size than the files have them: as many devices, or those of the nodes asked
/// for.
void use_nodes_of(const Cluster& cluster, bool nodes_asked, Facts& job) {
  const std::int64_t devices = cluster.devices_per_node;
  if (job.value("devices_per_node") == devices) return;
  if (job.value("devices") && *job.value("devices") < devices && !nodes_asked) {
    job.drop("plan.nodes");  // some devices of a node
    job.set_number("devices_per_node", devices);
    return;
  }
  if (job.value("devices_per_node") && !nodes_asked) {
    if (!job.value("devices") || *job.value("devices") % devices != 0) return;
    const std::int64_t all = *job.value("devices");
    job.assume(
        "plan.nodes", std::to_string(all / devices),
        fmt::format("nodes {}: {} devices in nodes of {}", all / devices, all, cluster.name));
  }
  job.set_number("devices_per_node", devices);
  if (nodes_asked) job.drop("devices");
}

}  // namespace

void replace_by_names(Facts& job, const ImportNames& names) {
  for (const auto& [path, flag] : kReplaced) {
    const auto value = names.whole(path);
    if (!value) continue;
    const OriginScope from(job, {Sureness::stated, {}, std::string("--set ") + path});
    if (job.value(path) != value) job.set_flag("mark.replaced");
    job.set_number(path, value);
    job.drop(std::string("open.") + flag);
  }
  follow_rules("replaced", job);
  follow_rules("devices", job);
  if (const NamedInputs inputs = look_up(job, names); inputs.cluster) {
    use_nodes_of(*inputs.cluster, job.says("user.plan.nodes"), job);
  }
}

void complete_by_names(Facts& job, const ImportNames& names) {
  Completion(job, names).run();
}

namespace {

constexpr std::size_t kLongestClue = 512;

/// Tests whether a name in any case has a part of a list (`ForeignNames::words_of`).
bool has_one(const std::string& name, const char* list, const Facts& job) {
  return has_part(lower_case(name), job.names->words_of(list));
}

void note(ClueRank rank, std::string what, const std::string& text, Facts& job) {
  constexpr std::size_t kMostClues = 4096;
  const bool flags = text.find("--") != std::string::npos;
  if (text.empty() || flags || text.size() > kLongestClue) return;
  if (job.model_clues.size() >= kMostClues) return;
  const bool names_models = rank < ClueRank::word && rank != ClueRank::variable;
  job.model_clues.push_back({rank, std::move(what), text, names_models});
}

/// All that may name the model, the likeliest first.
std::vector<ImportedClue> clues_of(const Facts& job) {
  Facts noted;
  note(ClueRank::named, "the model", job.text("model_named"), noted);
  for (const ImportedClue& one : job.model_clues) {
    if (one.rank != ClueRank::flag || has_one(one.what, "other_models", job)) continue;
    // The name of a flag may tell the family: --load-llama-config 7b.
    note(one.rank, one.what, one.text, noted);
    note(one.rank, one.what, one.what.substr(one.what.find_first_not_of('-')) + " " + one.text,
         noted);
  }
  note(ClueRank::configuration, "the configuration", job.text("yaml_config_file"), noted);
  for (const std::string& one : job.tokenizer)
    note(ClueRank::tokenizer, "the tokenizer", one, noted);
  std::vector<ImportedClue> clues = std::move(noted.model_clues);
  std::ranges::copy_if(job.model_clues, std::back_inserter(clues),
                       [](const ImportedClue& one) { return one.rank != ClueRank::flag; });
  std::stable_sort(
      clues.begin(), clues.end(),
      [](const ImportedClue& one, const ImportedClue& other) { return one.rank < other.rank; });
  return clues;
}

/// The model that is named within the likeliest text. Nothing where the files say some of a shape,
/// which may not be of that model, or name another model with its size.
std::optional<std::string> named_within(const Library& library, Facts& job) {
  const bool reinforced = std::ranges::any_of(job.report.left_out, [](const std::string& line) {
    return line.find("learns by reinforcement") != std::string::npos;
  });
  if (job.says(kModelLayers) || job.says("model.hidden_size") || reinforced) return std::nullopt;
  const std::vector<ImportedClue> clues = clues_of(job);
  const bool another = says_size(job.text("model_named"));
  std::vector<ModelClue> texts;
  for (const ImportedClue& one : clues) {
    if (another && one.rank != ClueRank::named) continue;
    texts.push_back({one.text, one.names_models});
  }
  const auto found = library.model_within(texts);
  if (!found) return std::nullopt;
  const ImportedClue& clue = clues[found->clue];
  job.report.assumed.push_back(fmt::format("the model {}: named in {} {}", found->file,
                                           printable(clue.what, 80), printable(clue.text, 100)));
  return found->file;
}

}  // namespace

void note_model_clues(const LaunchScript& script, Facts& job) {
  for (const auto& [name, value] : script.state.variables) {
    if (has_one(name, "model_variables", job) && !has_one(name, "other_models", job))
      note(ClueRank::variable, name, value, job);
  }
  std::string flag;    // the last one
  bool first = false;  // whether the word stands right behind it
  for (const std::string& word : script.words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const bool behind = word.starts_with("--");
    if (behind) flag = word.substr(0, equals);
    const std::string what = !flag.empty() && (behind || first) ? flag : "the word";
    first = behind;
    const std::string text = behind ? word.substr(std::min(equals + 1, word.size())) : word;
    if (word == kCommandEnd) {
      flag.clear();
    } else if (word.ends_with(".py") && !behind) {
      note(ClueRank::program, "the program", word, job);
    } else if (!has_one(flag, "other_models", job) && text.find('$') == std::string::npos) {
      note(ClueRank::word, what, text, job);
    }
  }
}

void note_file_clue(const std::string& file, Facts& job) {
  note(ClueRank::file, "the file", file_name(file), job);
}

namespace {

/// Layers and a width by themselves say little of a shape; where the model of these is named, the
/// rest is its own. A model of others is told.
void compare_with_named(const Library& library, Facts& job) {
  std::optional<std::string> file;
  if (job.says("model_named")) file = library.model_file(job.text("model_named"));
  for (const ImportedClue& one : file ? std::vector<ImportedClue>() : clues_of(job)) {
    if (file || one.rank > (job.says("shape_by_name") ? ClueRank::flag : ClueRank::named)) break;
    if (const auto found = library.model_within({{one.text, true}})) file = found->file;
  }
  if (!file) return;
  const Facts known = imported_model(library.open("models", *file));
  const std::int64_t stages = job.value("plan.pp").value_or(1);
  const std::int64_t layers = known.value(kModelLayers).value_or(0);
  const std::int64_t width = known.value("model.hidden_size").value_or(0);
  const std::int64_t hidden = job.value("model.hidden_size").value_or(0);
  const std::int64_t said = job.value(kModelLayers).value_or(0);
  const bool of_a_stage = width == hidden && said < (1 << 20) && stages > 1 && stages < (1 << 20) &&
                          said < layers && said * stages >= layers && said * (stages - 1) < layers;
  if (of_a_stage) {  // OpenChatKit counts so
    job.assume(kModelLayers, std::to_string(layers),
               fmt::format("{} layers: those of {}, which is named; {} are of each of {} stages",
                           layers, *file, said, stages));
  }
  if (layers != job.value(kModelLayers) || width != hidden) {
    job.report.left_out.push_back(
        fmt::format("the model {}, which is named, has {} layers of {}: predicted with {} of {}",
                    *file, layers, width, said, hidden));
    return;
  }
  if (job.says("model.intermediate_size") && job.says("model.mlp")) return;
  const OriginScope from(job, {Sureness::follows, {}, "the model " + *file});
  take_what_is_missing(known, job);
  job.report.assumed.push_back(
      fmt::format("the rest of the shape: that of {}, which the files name", *file));
}

}  // namespace

void look_up_model(const Library* library, Facts& job) {
  const bool whole = job.has_shape() && !job.says("mark.model_overrides");
  if (library == nullptr) return;
  if (whole) return compare_with_named(*library, job);
  // Hugging Face's --config_name is a model's, too; else the program may have its model's name.
  const bool named = job.says("model_named");
  std::string name = named ? job.text("model_named") : job.text("yaml_config_file");
  auto file = library->model_file(name);
  if (!named && !file && name.ends_with("_full")) {  // torchtune's llama3_3/70B_full
    std::string family = name;
    std::ranges::replace(family, '/', '_');
    file = library->model_file(family);
    if (file) {
      job.note("--recipe");
      job.set_flag("mark.of.torchtune");
    }
  }
  const bool by_config = !named && file.has_value();
  const bool by_program = !named && !file;
  if (by_program) {
    name = job.text("model_of_program");
    file = library->model_file(name);
  }
  if (!file) {
    file = named_within(*library, job);
    if (file) name = *file;
  }
  if (!file) return;
  const OriginScope from(job, {Sureness::follows, {}, "the model " + *file});
  take_what_is_missing(imported_model(library->open("models", *file)), job);
  if (by_config) job.drop("yaml_config_file");
  if (by_program && name == job.text("model_of_program")) job.note("--recipe");
  if (job.says("--recipe")) {
    job.report.left_out.push_back(
        fmt::format("{}: prequel does not know the batches, layout, precision and recomputation "
                    "that it trains with by itself",
                    printable(name)));
  }
  job.report.read.push_back(fmt::format("{}: its shape, which prequel knows", printable(name)));
}

}  // namespace prequel
