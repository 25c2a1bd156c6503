#include "cli/import/foreign_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/argument_dump.hpp"
#include "cli/import/deepspeed_config.hpp"
#include "cli/import/hugging_face_config.hpp"
#include "cli/import/launch_script.hpp"
#include "cli/import/megatron_arguments.hpp"
#include "cli/import/training_log.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {

namespace {

constexpr std::size_t kLongestText = 16u << 20;  // of what is read whole: all but logs

void read_json(const Document& document, ImportedJob& job) {
  if (is_hugging_face_config(document)) return read_hugging_face_config(document, job);
  if (is_deepspeed_config(document)) return read_deepspeed_config(document, job);
  throw InputError(document.file() +
                   ": neither a Hugging Face config.json nor a DeepSpeed ds_config.json");
}

/// All files that are JSON hold an object; a log may well begin with a bracket.
bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// A file and what kind of file it is.
struct Source {
  std::string file;  ///< for messages
  std::string text;  ///< its first 16 MiB
  bool json{};
  TrainingLog log;  ///< empty for other files
};

Source read_source(const std::string& path) {
  Source source{path == "-" ? "stdin" : path, {}, false, {}};
  TrainingLogReader log;
  bool longer = false;
  read_pieces(path, [&](std::string_view piece) {
    const std::size_t kept = std::min(piece.size(), kLongestText - source.text.size());
    source.text += piece.substr(0, kept);
    longer = longer || kept < piece.size();
    source.json = is_json(source.text);
    if (source.json) return !longer;
    log.take(piece);
    return true;
  });
  if (!source.json && !source.text.starts_with("#!")) source.log = log.finish();
  if (longer && !source.log.found()) {
    throw InputError(source.file + ": over 16 MiB, and no iteration of a training log in it");
  }
  return source;
}

/// Whether the host waits for each kernel belongs to the software; only a script says it.
void read_launch(const LaunchScript& script, ImportedJob& job) {
  const auto blocking = script.variables.find("CUDA_LAUNCH_BLOCKING");
  if (blocking != script.variables.end() && blocking->second == "1") {
    job.launch = Launch::blocking;
    job.report.read.emplace_back("CUDA_LAUNCH_BLOCKING=1: software.launch is blocking");
  } else {
    job.launch = Launch::async;
    job.report.assumed.emplace_back("software.launch async: no CUDA_LAUNCH_BLOCKING=1");
  }
}

void read_script(const Source& source, ImportedJob& job) {
  const LaunchScript script = read_launch_script(source.file, source.text);
  read_megatron_arguments(source.file, script.words, job);
  job.report.read.push_back(source.file + ": launch script");
  for (const std::string& body : script.here_documents) {
    if (!is_json(body)) continue;
    const Document document = Document::parse(source.file + " (here-document)", body);
    if (is_deepspeed_config(document)) read_deepspeed_config(document, job);
  }
  read_launch(script, job);
  assume_megatron_defaults(job);
  if (!job.model.max_positions) job.model.max_positions = job.plan.seq_len;
  if (job.model.name.empty()) {
    job.model.name = std::filesystem::path(source.file).stem().string();
  }
}

/// The runs of a log, and the job as its last arguments have it.
void read_log(const std::string& file, const TrainingLog& log, Import& import) {
  ImportReport report = std::move(import.job.report);
  import.job.report = {};
  report.read.push_back(fmt::format("{}: training log of {} iteration lines{}", file,
                                    log.iteration_lines,
                                    log.sections.back().arguments.empty() ? "" : " and arguments"));
  if (log.measured()) {
    std::vector<LoggedRun> runs = logged_runs(file, log, import.job, report);
    std::move(runs.begin(), runs.end(), std::back_inserter(import.runs));
  }
  const LogSection& last = log.sections.back();
  read_argument_dump(file, last.arguments, import.job);
  read_engine_arguments(last.engine_arguments, import.job);
  if (import.job.model.name.empty()) {
    import.job.model.name = std::filesystem::path(file).stem().string();
  }
  report.assumed.insert(report.assumed.end(), import.job.report.assumed.begin(),
                        import.job.report.assumed.end());
  import.job.report = std::move(report);
}

/// For runs a cluster, where the user names none; and the stack that the arguments fit, where that
/// cluster's own is not known to (it may lack what they ask for).
void assume_names(Import& import) {
  ImportedJob& job = import.job;
  const auto assume = [&job](const char* what, const std::string& chosen) {
    job.report.assumed.push_back(
        fmt::format("{} {}: no file names it (--{} NAME)", what, chosen, what));
    return chosen;
  };
  const bool modern = job.plan.attention == AttentionKind::flash || job.megatron_core;
  if (!job.software && (modern || (!job.cluster && !import.runs.empty()))) {
    const char* deepspeed = modern ? "megatron-deepspeed-2023" : "megatron-deepspeed-2022";
    const char* megatron = modern ? "megatron-core-2024" : "megatron-lm-2021";
    job.software = assume("software", job.deepspeed ? deepspeed : megatron);
  }
  const bool hopper = job.device_type && job.device_type->find("h100") != std::string::npos;
  if (!job.cluster && !import.runs.empty()) {
    job.cluster = assume("cluster", hopper ? "dgx-h100" : "dgx-a100");
  }
  for (LoggedRun& run : import.runs) {
    run.job.cluster = job.cluster;
    run.job.software = job.software;
  }
}

Import import_sources(const std::vector<Source>& sources, const ImportNames& names) {
  Import import;
  import.job.cluster = names.cluster;
  import.job.software = names.software;
  for (const Source& source : sources) {
    if (source.log.found()) continue;
    if (source.json) {
      read_json(Document::parse(source.file, source.text), import.job);
    } else {
      read_script(source, import.job);
    }
  }
  for (const Source& source : sources) {
    if (source.log.found()) read_log(source.file, source.log, import);
  }
  const ImportedModel& model = import.job.model;
  const bool only_json =
      std::all_of(sources.begin(), sources.end(), [](const Source& source) { return source.json; });
  if (!only_json && (!model.layers || !model.hidden)) {
    throw InputError(sources.front().file +
                     ": no --num-layers and --hidden-size found; expected a Megatron launch "
                     "script, a Hugging Face or DeepSpeed config, or a training log (one without "
                     "its arguments: together with its launch script)");
  }
  complete(import.job);
  if (!only_json) assume_names(import);
  return import;
}

/// Configs say the model or the batch, not the whole job.
void refuse_half_a_job(const Document& document) {
  const std::string& file = document.file();
  if (is_hugging_face_config(document)) {
    throw InputError(file +
                     ": a Hugging Face config says the model alone; give it as --model, with "
                     "--cluster, --nodes, --gbs and the degrees of parallelism");
  }
  if (is_deepspeed_config(document)) {
    throw InputError(file +
                     ": a DeepSpeed config does not say the model; prequel import makes a job "
                     "of it and a config.json or launch script");
  }
}

}  // namespace

Import import_files(const std::vector<std::string>& files, const ImportNames& names) {
  std::vector<Source> sources;
  for (const std::string& file : files) sources.push_back(read_source(file));
  return import_sources(sources, names);
}

std::optional<Translated> translate_job(const std::string& path, const ImportNames& names) {
  std::error_code ignored;
  if (path != "-" && !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  Source source = read_source(path);
  if (source.json) {
    const Document document = Document::parse(source.file, source.text);
    refuse_half_a_job(document);
    if (path != "-") return std::nullopt;
    return Translated{std::move(source.text), {}, {}};
  }
  const Import import = import_sources({source}, names);
  return Translated{job_json(import.job, source.file), import.job.launch, import.job.report};
}

std::optional<Translated> translate_model(const std::string& path) {
  std::error_code ignored;
  const bool is_path = path.find('/') != std::string::npos || path.ends_with(".json");
  if (!is_path || !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const std::string text = read_file(path);
  if (!is_json(text)) {
    throw InputError(path +
                     ": no JSON object; expected a model file or a Hugging Face config.json (a "
                     "launch script is a whole job: prequel predict SCRIPT)");
  }
  const Document document = Document::parse(path, text);
  if (!is_hugging_face_config(document)) return std::nullopt;
  ImportedJob job;
  read_hugging_face_config(document, job);
  return Translated{model_json(job.model, path), {}, job.report};
}

}  // namespace prequel
