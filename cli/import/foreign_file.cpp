#include "cli/import/foreign_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/companion_files.hpp"
#include "cli/import/configs/config_values.hpp"
#include "cli/import/configs/json_configs.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/job/name_files.hpp"
#include "cli/import/logged_runs.hpp"
#include "cli/import/logs/training_log.hpp"
#include "cli/import/named_inputs.hpp"
#include "cli/import/reading.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "cli/import/source_files.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestRefusal = 400;  // of what is missing

/// Files that set flags and leave it to another to start the program with them.
void read_unused_variables(const std::string& file, const ShellState& state, Facts& job) {
  if (job.says(kModelLayers) || job.says("model.hidden_size")) return;
  for (const auto& [name, value] : state.variables) {
    if (state.used.contains(name) || value.find("--") == std::string::npos) continue;
    std::istringstream text(value);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text),
                                         std::istream_iterator<std::string>()};
    if (std::none_of(words.begin(), words.end(), is_flag)) continue;
    job.report.assumed.push_back(
        fmt::format("{}: its flags are the program's, though no command names it", name));
    read_megatron_arguments(file, words, job);
  }
}

/// Follows the rules of files that say a job by variables alone, as submissions to MLPerf do; false
/// where these say none.
bool read_variables(const std::string& file, const ShellState& state, Facts& job) {
  const OriginScope from(job, {Sureness::stated, file, "its variables"});
  job.set("file", file);
  for (const auto& [name, value] : state.variables) job.set("variable." + name, value);
  follow_rules("mlperf", job);
  job.drop("file");
  job.drop_all("variable.");
  return job.says("mark.variables");
}

/// Files of one job assume the same.
void drop_repeats(std::vector<std::string>& lines) {
  std::set<std::string> seen;
  std::erase_if(lines, [&](const std::string& line) { return !seen.insert(line).second; });
}

/// The runs of a log, and the job as its last arguments have it.
void read_log(const std::string& file, const TrainingLog& log, const ImportNames& names, Facts& job,
              std::vector<LoggedRun>& all) {
  ImportReport report = std::move(job.report);
  job.report = {};
  report.read.push_back(fmt::format("{}: training log of {} iteration lines{}", file,
                                    log.iteration_lines,
                                    log.sections.back().arguments.empty() ? "" : " and arguments"));
  if (log.measured()) {
    std::vector<LoggedRun> runs = logged_runs(file, log, job, names, report);
    std::move(runs.begin(), runs.end(), std::back_inserter(all));
  }
  const LogSection& last = log.sections.back();
  read_argument_dump(file, last.arguments, job);
  read_engine_arguments(file, last.engine_arguments, job);
  job.name_model(std::filesystem::path(file).stem().string());
  const ImportReport& dumped = job.report;
  report.assumed.insert(report.assumed.end(), dumped.assumed.begin(), dumped.assumed.end());
  report.left_out.insert(report.left_out.end(), dumped.left_out.begin(), dumped.left_out.end());
  job.report = std::move(report);
}

/// The stack of a framework that the files are marked by; for adapters that of its own or PEFT's.
std::string stack_of_framework(const Facts& job) {
  const bool of_trainer = job.says("--finetuning-type") || job.says("--base-model") ||
                          job.is_of("hugging-face");  // by TRL's own command
  const bool adapts =
      of_trainer || (job.says("plan.tuning") && job.text("plan.tuning") != name(Tuning::full));
  const bool titan = job.is_of("torchtitan");
  if (adapts && !titan && !job.says("--num-layers") && !job.says("megatron_core")) {
    for (const auto& [name, one] : job.names->frameworks) {
      if (!one.adapter_stack.empty() && job.is_of(name)) return one.adapter_stack;
    }
    return job.names->framework("hugging-face").adapter_stack;
  }
  if (titan) return job.names->framework("torchtitan").stack;
  for (const auto& [name, one] : job.names->frameworks) {
    if (!one.stack.empty() && job.is_of(name)) return one.stack;
  }
  return {};
}

/// The stack that arguments of Megatron fit, DeepSpeed's or not, where the cluster's own is not
/// known to: it may lack what they ask for. Empty where that one suits.
std::string stack_of_arguments(const Facts& job, const ImportNames& names, bool runs) {
  const Framework& own = job.names->framework(job.says("deepspeed") ? "deepspeed" : "megatron-lm");
  const bool flash = job.text("plan.attention") == name(AttentionKind::flash);
  const bool modern = flash || job.says("megatron_core");
  const std::optional<Software> usual = look_up(job, names).software;  // the cluster's own
  const bool suits = usual && usual->framework == own.framework &&
                     (!flash || !usual->kernels.flash_kernel.empty());
  const std::int64_t zero = job.value("plan.zero").value_or(0);
  const bool sharded = zero > 1;
  // Hugging Face's and its like, and those that give a shape of their own to PyTorch's FSDP.
  const bool trainer = sharded && (!job.says("--num-layers") || job.says("mark.fully_sharded"));
  const bool offered = usual && std::ranges::count(usual->choices.zero, zero) > 0;
  const std::string& fsdp = job.names->framework("pytorch-fsdp").stack;
  if (!job.says("deepspeed") && trainer && !offered) return fsdp;
  if (modern && suits) return usual->name;
  const bool foreign =
      usual && !suits && job.says("deepspeed") && (job.says("--num-layers") || sharded);
  if (!modern && !foreign && (job.says("cluster") || !runs)) return {};
  // DeepSpeed's stacks were measured before they had flash attention.
  if (job.says("deepspeed") && (flash || trainer)) {
    return sharded ? fsdp : job.names->framework("megatron-lm").stack;
  }
  return modern || foreign ? own.stack : own.old_stack;
}

/// For runs a cluster, where the user names none; and a stack that knows what the files ask for.
void assume_names(const ImportNames& names, Facts& job, std::vector<LoggedRun>& all) {
  const bool runs = !all.empty();
  const auto assume = [&job](const char* what, const std::string& chosen) {
    if (chosen.empty()) return;
    job.assume(what, chosen,
               fmt::format("{} {}: no file names it (--{} NAME)", what, chosen, what));
  };
  follow_rules("programs", job);
  if (std::ranges::any_of(all, &LoggedRun::torchtitan)) job.set_flag("mark.of.torchtitan");
  if (!job.says("software")) {
    std::string stack = stack_of_framework(job);
    if (stack.empty()) stack = stack_of_arguments(job, names, runs);
    assume("software", stack);
  }
  if (!job.says("cluster") && runs) {
    std::string cluster;
    for (const auto& [type, name] : job.names->clusters) {  // that of any type first
      if (job.text("device_type").find(type) != std::string::npos) cluster = name;
    }
    assume("cluster", cluster);
  }
  for (LoggedRun& run : all) {
    run.job.cluster = text_of("cluster", job);
    run.job.software = text_of("software", job);
  }
}

std::string names_of(const std::vector<Source>& sources) {
  std::string text;
  for (const Source& source : sources) text += (text.empty() ? "" : ", ") + source.file;
  return text;
}

/// Programs that train with several models say little of any of them; which they are is the reason.
void refuse_several_models(const std::vector<Source>& sources, const Facts& job) {
  for (const std::string& line : job.report.left_out) {
    const std::size_t end = line.find("; prequel predicts training one model");
    if (end == std::string::npos) continue;
    throw InputError(
        fmt::format("{}: {}; prequel predicts one model, whose shape no file gives: use --model "
                    "NAME, --mbs, --gbs and --seq-len",
                    names_of(sources), line.substr(0, end)));
  }
}

/// Says what a file looks like that gives no model, and what would do.
void refuse_known_kinds(const std::vector<Source>& sources, const Facts& job) {
  for (const Source& source : sources) {
    if (!source.is(SourceKind::script)) continue;
    const std::string kind = what_it_looks_like(source.text);
    if (!kind.empty()) throw InputError(source.file + ": looks like " + kind);
  }
  if (!job.says("model_named") && job.says("yaml_config_file") && !job.says("yaml_config")) {
    throw InputError(
        fmt::format("{}: names the configuration {}, which is not among the files; add it",
                    names_of(sources), printable(job.text("yaml_config_file"))));
  }
  if (!job.says("model_named")) return;
  throw InputError(
      fmt::format("{}: names the model {} without its shape; add that file or its config.json",
                  names_of(sources), printable(job.text("model_named"))));
}

/// Returns why the shape of a model could not be read: a value that only a run would tell, or files
/// that are not there.
std::string what_is_missing(const Facts& job) {
  std::string text;
  for (const std::string& line : job.report.assumed) {
    const bool shape = line.starts_with("--num-layers is left out: ") ||
                       line.starts_with("--hidden-size is left out: ");
    if (!shape && !line.starts_with("nothing of ")) continue;
    text += "; " + line;
    if (text.size() > kLongestRefusal) break;
  }
  if (text.find("left out: $") != std::string::npos) text += "; --env NAME=VALUE gives it";
  return text;
}

/// A model that the user names stands in the place of what files say of theirs.
void tell_named_model(const ImportNames& names, Facts& job) {
  if (!names.model) return;
  const auto differs = [&](const char* field) {
    return job.says(field) && job.text(field) != names.model->text(field);
  };
  const std::string name = printable(names.model->text("model.name"));
  if (differs(kModelLayers) || differs("model.hidden_size")) {
    job.report.assumed.push_back(
        fmt::format("the model {}, which --model names, not that of the files", name));
  } else {
    job.report.read.push_back(fmt::format("the model {}: by --model", name));
  }
}
void use_named_model(const ImportNames& names, Facts& job) {
  if (!names.model) return;
  const OriginScope from(job, {Sureness::stated, {}, "--model"});
  set_model(*names.model, job);
  job.drop("padded_vocab");
  job.drop("model_named");
}

Import import_sources(const std::vector<Source>& sources, const ImportNames& names) {
  Reading reading = read_sources(sources, names);
  Facts job = std::move(reading.job);
  std::vector<LoggedRun> runs;
  const ShellState& state = reading.state;
  tell_named_model(names, job);
  use_named_model(names, job);
  const bool variables = read_variables(first_file(sources), state, job);
  const std::string unread = variables ? std::string() : reading.unread;
  take_by_names(job);
  follow_rules("positions", job);
  look_up_flavour(names.library, job);
  look_up_model(names.library, job);
  if (job.says("mark.of.maxtext")) replace_by_names(job, names);  // its axes fill devices
  if (job.says("script")) {
    read_unused_variables(first_file(sources), state, job);
    take_by_names(job);
    assume_megatron_defaults(job);
  }
  use_named_model(names, job);  // whatever flags of another model made of it
  Facts said = job;
  replace_by_names(said, names);
  complete(said);
  refuse_contradictions(said, names_of(sources));
  for (const Source& source : sources) {
    if (source.is(SourceKind::log)) read_log(source.file, source.log, names, job, runs);
  }
  const bool only_json =
      !names.model && std::all_of(sources.begin(), sources.end(),
                                  [](const Source& source) { return source.is(SourceKind::json); });
  if (!only_json && !job.has_shape()) {
    refuse_several_models(sources, job);
    refuse_known_kinds(sources, job);
    const std::string missing = what_is_missing(job);
    const std::string programs =
        !job.says("programs") ? "" : fmt::format("; it starts {}", job.text("programs"));
    throw InputError(fmt::format("{}: no --num-layers and --hidden-size found{}{}; expected {}",
                                 first_file(sources), programs, missing,
                                 "a launch script, a configuration in YAML or TOML, a Hugging Face "
                                 "or DeepSpeed config, or a training log (with its script)"));
  }
  if (!unread.empty()) {
    refuse_known_kinds(sources, job);
    throw InputError(unread + ": prequel reads nothing in it: no flags, no JSON object, no log");
  }
  replace_by_names(job, names);
  complete(job);
  if (!only_json) assume_names(names, job, runs);
  complete_by_names(job, names);
  ImportReport& report = job.report;
  for (auto* lines : {&report.assumed, &report.left_out, &report.ignored}) drop_repeats(*lines);
  Import import{resolve(std::move(job)), std::move(runs)};
  count_parameters(import.job);
  return import;
}

/// Returns the settings of the software that it does not have by itself.
std::vector<SoftwareField> changed_fields(const Facts& job, const ImportNames& names) {
  std::vector<SoftwareField> fields = software_fields(job);
  const std::optional<Software> software = look_up(job, names).software;
  if (software && job.text("launch") == name(software->host.launch)) {
    std::erase_if(fields, [](const SoftwareField& one) { return one.path == "software.launch"; });
  }
  return fields;
}

/// Configs say the model or the batch, not the whole job.
void refuse_half_a_job(const Document& document, const ImportNames& names) {
  const std::string& file = document.file();
  if (is_hugging_face_config(document)) {
    throw InputError(file +
                     ": a Hugging Face config gives the model alone; use --model FILE with "
                     "--cluster, --nodes, --gbs and degrees");
  }
  if (is_deepspeed_config(document) && !names.model) {
    throw InputError(file +
                     ": a DeepSpeed config gives no model; add --model NAME, or run prequel import "
                     "with its launch script");
  }
}

}  // namespace

Import import_files(const std::vector<std::string>& files, const ImportNames& names) {
  std::vector<Source> sources;
  for (const std::string& file : files) add_sources(file, sources);
  ImportNames known = names;
  known.foreign = names_of_library(names.library);
  add_companions(sources, known);
  return import_sources(sources, known);
}

std::optional<Translated> translate_job(const std::string& path, const ImportNames& names) {
  std::error_code ignored;
  if (path != "-" && !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::vector<Source> sources;
  add_sources(path, sources);
  Source& source = sources.front();
  if (source.is(SourceKind::json)) {
    const Document document = Document::parse(source.file, without_infinities(source.text));
    refuse_half_a_job(document, names);
    if (!is_deepspeed_config(document)) {
      if (path != "-") return std::nullopt;
      return Translated{std::move(source.text), {}, {}};
    }
  }
  const std::string file = source.file;
  ImportNames known = names;
  known.foreign = names_of_library(names.library);
  add_companions(sources, known);
  const Import import = import_sources(sources, known);
  return Translated{job_json(import.job, file), changed_fields(import.job, names),
                    import.job.report};
}

std::optional<Translated> translate_model(const std::string& path) {
  std::error_code ignored;
  if (!is_path(path) || !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  return translate_model_text(path, read_file(path));
}

std::optional<Translated> translate_model_text(const std::string& file, const std::string& text) {
  if (!is_json(text)) {
    throw InputError(file +
                     ": expected a model file or a Hugging Face config.json; a launch script is a "
                     "whole job (prequel predict SCRIPT)");
  }
  const Document document = Document::parse(file, without_infinities(text));
  if (!is_hugging_face_config(document)) return std::nullopt;
  Facts job;
  ForeignNames names;
  read_name_file(Library({}).open("import", "families"), "families", names);
  job.names = std::make_shared<const ForeignNames>(std::move(names));
  read_hugging_face_config(document, job);
  ImportedJob made = resolve(std::move(job));
  count_parameters(made);
  return Translated{model_json(made.model, file), {}, made.report};
}

}  // namespace prequel
