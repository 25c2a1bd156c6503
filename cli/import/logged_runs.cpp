#include "cli/import/logged_runs.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibrate/validate/measured_runs.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

using Values = std::map<std::string, std::string>;
using Count = std::optional<std::int64_t>;

/// An enumerator is printed with its class, PositionEmbeddingType.alibi, and a type as PyTorch
/// names it.
std::string without_class(const std::string& value) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {{"torch.float32", "fp32"},
                                                                        {"torch.bfloat16", "bf16"},
                                                                        {"torch.float16", "fp16"},
                                                                        {"torch.uint8", "fp8"}};
  for (const auto& [type, word] : kTypes) {
    if (value == type) return word;
  }
  const std::size_t dot = value.find('.');
  const bool enumerator = dot != std::string::npos && dot + 1 < value.size() &&
                          std::isupper(static_cast<unsigned char>(value.front())) != 0 &&
                          std::isalpha(static_cast<unsigned char>(value[dot + 1])) != 0;
  return enumerator ? value.substr(dot + 1) : value;
}

/// The flags that would have set what is not None or False: `swiglu True` is `--swiglu`.
SaidFlags as_flags(const LogSection::Arguments& arguments, const ForeignNames& names) {
  SaidFlags flags;
  for (const auto& [name, value] : arguments) {
    if (value == "None" || value == "False" || value == "[]") continue;
    if (names.has_word("only_dumped", name)) continue;
    flags.push_back({"--" + name, value == "True" ? "" : without_class(value)});
  }
  return flags;
}

/// Notes values for rules, in the place of those of another dump.
void note_facts(std::string_view of, const Values& values, Facts& job) {
  job.drop_all(of);
  for (const auto& [name, value] : values) job.set(std::string(of) + name, value);
}

}  // namespace

void read_argument_dump(const std::string& file, const LogSection::Arguments& arguments,
                        Facts& job) {
  if (arguments.empty()) return;
  const Values values(arguments.begin(), arguments.end());
  const Count gpus_before = job.value("devices")
                                ? job.value("devices")
                                : std::optional(job.value("plan.nodes").value_or(0) *
                                                job.value("devices_per_node").value_or(0));
  for (const char* field : {"plan.recompute", "plan.sequence_parallel", "plan.zero"})
    job.drop(field);
  ImportReport report = std::move(job.report);
  job.report = {};
  for (const char* of_files : {"--", "train_", "zero_optimization.", "mark.", "config_precision"}) {
    job.drop_all(of_files);
  }
  read_flags(file, as_flags(arguments, *job.names), job, NameSource::dump);
  follow_rules("batch sizes", job);
  // A dump has hundreds of arguments that do not matter; naming them helps nobody.
  report.assumed.insert(report.assumed.end(), job.report.assumed.begin(), job.report.assumed.end());
  report.left_out.insert(report.left_out.end(), job.report.left_out.begin(),
                         job.report.left_out.end());
  job.report = std::move(report);
  if (values.contains("pipe_parallel_size")) {  // GPT-NeoX, and Megatron-DeepSpeed of 2021
    job.set_flag("deepspeed");
    if (values.contains("zero_optimization")) job.set_flag("deepspeed_config");
  }
  note_facts("dump.", values, job);
  follow_rules("dump", job);
  if (job.value("devices") != gpus_before)
    job.drop("plan.nodes");  // follows from the devices of a node
  assume_megatron_defaults(job);
}

void read_engine_arguments(const std::string& file, const LogSection::Arguments& arguments,
                           Facts& job) {
  if (arguments.empty()) return;
  const OriginScope from(job, {Sureness::stated, file, "what DeepSpeed's engine prints"});
  job.set_flag("deepspeed");
  job.set_flag("deepspeed_config");  // which is printed here
  const Values values(arguments.begin(), arguments.end());
  note_facts("engine.", values, job);
  follow_rules("engine", job);
}

namespace {

constexpr std::size_t kSettled = 3;  // lines after the warm-up

/// "log" of "runs/log.txt"; letters that would need quotes become '-'.
std::string stem(const std::string& file) {
  std::string name = file == "-" ? "log" : std::filesystem::path(file).stem().string();
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) <= ' ' || letter == ',' || letter == '"') letter = '-';
  }
  return printable(name.empty() ? "log" : name);
}

/// Returns the job that a section states over what other files say.
Facts job_of(const std::string& file, const LogSection& section, const Facts& base) {
  Facts job = base;
  read_argument_dump(file, section.arguments, job);
  read_engine_arguments(file, section.engine_arguments,
                        job);  // has the last word on ZeRO and batches
  (void)assign(
      {"model.max_position_embeddings", Assignment::How::if_open, job.text("plan.seq_len")}, job);
  job.name_model(stem(file));
  return job;
}

/// The batch sizes that have a time worth a row.
std::vector<const BatchTimes*> settled(const LogSection& section) {
  std::vector<const BatchTimes*> batches;
  for (const BatchTimes& batch : section.batches) {
    if (batch.seconds.seen() >= kSettled) batches.push_back(&batch);
  }
  if (batches.empty() && !section.batches.empty()) {
    const BatchTimes& last = section.batches.back();
    if (last.seconds.seen() + last.warm_up_seconds.seen() > 0) batches.push_back(&last);
  }
  return batches;
}

std::string notes_of(const BatchTimes& batch, const ThinnedSample& seconds, double scale) {
  const bool warm = &seconds != &batch.warm_up_seconds;
  std::string text = fmt::format("median of {} logged times; P10 {:.4g} s, P90 {:.4g} s",
                                 seconds.seen(), scale * seconds.at(0.1), scale * seconds.at(0.9));
  if (warm) {
    text +=
        fmt::format("; iterations {} to {}; {} lines of warm-up or of a changing batch left out",
                    batch.first_iteration, batch.last_iteration, batch.left_out);
  } else {
    text += "; all are first iterations after a start and include warm-up";
  }
  return text;
}

/// How many of what was timed an iteration has.
double units_of_iteration(const std::string& file, TimedUnit unit, const ImportedJob& job) {
  if (unit == TimedUnit::iteration) return 1.0;
  const auto sequences = job.plan.gbs;
  if (!sequences) {
    throw InputError(
        fmt::format("{}: gives {} a second, but no file gives the global batch size ({})", file,
                    unit == TimedUnit::sequence ? "sequences" : "tokens",
                    unit == TimedUnit::sequence ? "DeepSpeed's train_batch_size" : "--gbs"));
  }
  if (unit == TimedUnit::sequence) return static_cast<double>(*sequences);
  const auto tokens = job.plan.seq_len ? job.plan.seq_len : job.model.max_positions;
  if (!tokens || !job.value("devices")) {
    throw InputError(
        fmt::format("{}: gives tokens a second of one device, but no file says {}", file,
                    tokens ? "how many devices there are (--nodes and --cluster)"
                           : "how long sequences are (a config.json beside it, or a script)"));
  }
  return static_cast<double>(*sequences) * static_cast<double>(*tokens) /
         static_cast<double>(*job.value("devices"));
}

LoggedRun timed_run(const std::string& file, const LogSection& section, const BatchTimes& batch,
                    Facts said) {
  LoggedRun run;
  if (batch.global_batch > 0) said.set_number("plan.gbs", batch.global_batch);
  complete(said);
  ImportedJob job = resolve(std::move(said));
  const ThinnedSample& seconds = batch.seconds.seen() > 0 ? batch.seconds : batch.warm_up_seconds;
  const double scale = units_of_iteration(file, batch.unit, job);
  run.sec_per_iter = scale * seconds.at(0.5);
  if (batch.tflops.seen() > 0) run.tflops_per_gpu = batch.tflops.at(0.5);
  run.hardware_flops = batch.hardware_flops;
  run.torchtitan = batch.unit == TimedUnit::device_token;
  run.notes = notes_of(batch, seconds, scale);
  if (section.reserved_bytes) {
    run.memory_gib = *section.reserved_bytes / kGiB;
    run.notes += "; memory: torch's max reserved, without CUDA's context";
  } else if (section.allocated_bytes) {
    run.memory_gib = *section.allocated_bytes / kGiB;
    run.notes += "; memory: torch's max allocated, without cache and CUDA's context";
  }
  run.job = std::move(job);
  return run;
}

void name_run(LoggedRun& run, const std::string& file, std::size_t section) {
  run.source = file == "-" ? "stdin" : file;
  run.id = stem(file);
  if (section > 0) run.id += fmt::format("-{}", section + 1);
  if (run.job.plan.gbs) run.id += fmt::format("-gbs{}", *run.job.plan.gbs);
}

void report_section(const std::string& file, const LogSection& section,
                    const std::vector<const BatchTimes*>& used, ImportReport& report) {
  std::vector<std::string> unsettled;
  for (const BatchTimes& batch : section.batches) {
    if (std::find(used.begin(), used.end(), &batch) == used.end()) {
      unsettled.push_back(std::to_string(batch.global_batch));
    }
  }
  if (unsettled.empty()) return;
  const std::size_t count = unsettled.size();
  unsettled.resize(std::min<std::size_t>(count, 4));
  report.left_out.push_back(
      fmt::format("{}: global batch {}{}: fewer than {} lines after the warm-up", file,
                  fmt::join(unsettled, ", "),
                  count > 4 ? fmt::format(" and {} more", count - 4) : "", kSettled));
}

std::map<std::string, std::string> cells_of(const LoggedRun& run) {
  std::map<std::string, std::string> cells;
  const auto number = [&](const char* column, const std::optional<double>& value) {
    if (value) cells[column] = fmt::format("{:.7g}", *value);
  };
  const PlanRequest& plan = run.job.plan;
  cells["id"] = run.id;
  cells["source"] = run.source;
  cells["cluster"] = run.job.cluster.value_or("");
  cells["software"] = run.job.software.value_or("");
  const char* framework = run.job.says("deepspeed") ? "deepspeed" : "megatron-lm";
  cells["framework"] =
      run.torchtitan ? "torchtitan" : run.job.names->framework(framework).framework;
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"gpus", "devices"},
      {"model", "model.name"},
      {"layers", kModelLayers},
      {"hidden", "model.hidden_size"},
      {"heads", "model.num_attention_heads"},
      {"kv_heads", "model.num_key_value_heads"},
      {"ffn_hidden", "model.intermediate_size"},
      {"vocab", "model.vocab_size"},
      {"mlp", "model.mlp"},
      {"position", "model.position"},
      {"seq_len", "model.max_position_embeddings"},  // unless the plan says it
      {"launch", "launch"}};
  for (const auto& [column, field] : kFields) cells[column] = run.job.text(field);
  if (run.job.model.tied_embeddings) {
    cells["tied_embeddings"] = *run.job.model.tied_embeddings ? "1" : "0";
  }
  each_axis([&](const auto& axis) {
    if (const auto& value = axis.of(plan)) cells[std::string(axis.column)] = cell_of(*value);
  });
  number("sec_per_iter", run.sec_per_iter);
  number("tflops_per_gpu", run.tflops_per_gpu);
  if (run.tflops_per_gpu) {
    cells["flops_definition"] = run.hardware_flops ? "megatron-hw" : "megatron-model";
  }
  number("mem_gib", run.memory_gib);
  cells["status"] = run.out_of_memory ? "oom" : "ok";
  cells["notes"] = run.notes;
  return cells;
}

}  // namespace

std::vector<LoggedRun> logged_runs(const std::string& file, const TrainingLog& log,
                                   const Facts& job, const ImportNames& names,
                                   ImportReport& report) {
  std::vector<LoggedRun> runs;
  for (std::size_t i = 0; i < log.sections.size(); ++i) {
    const LogSection& section = log.sections[i];
    Facts said = job_of(file, section, job);
    replace_by_names(said, names);
    const auto batches = settled(section);
    for (const BatchTimes* batch : batches) {
      runs.push_back(timed_run(file, section, *batch, said));
      name_run(runs.back(), file, i);
    }
    report_section(file, section, batches, report);
    if (!section.out_of_memory) continue;
    if (batches.empty()) {
      complete(said);
      runs.emplace_back().job = resolve(said);
      name_run(runs.back(), file, i);
    }
    runs.back().out_of_memory = true;
    runs.back().notes += runs.back().notes.empty() ? "ended out of memory" : "; then out of memory";
  }
  if (log.broken_lines > 0) {
    report.left_out.push_back(
        fmt::format("{}: {} iteration lines are broken (the first is line {})", file,
                    log.broken_lines, log.first_broken_line));
  }
  if (runs.empty()) {
    throw InputError(
        fmt::format("{}: only start-up was timed (iteration lines: {}); at least two are needed",
                    file, log.iteration_lines));
  }
  return runs;
}

std::string runs_csv(const std::vector<LoggedRun>& runs) {
  const std::vector<std::string> columns = run_columns();
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (const LoggedRun& run : runs) {
    const auto cells = cells_of(run);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto cell = cells.find(columns[i]);
      if (i > 0) text += ',';
      if (cell != cells.end()) text += csv_quoted(cell->second);
    }
    text += '\n';
  }
  return text;
}

}  // namespace prequel
