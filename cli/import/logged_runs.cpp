#include "cli/import/logged_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "calibrate/validate/measured_runs.hpp"
#include "cli/import/argument_dump.hpp"
#include "cli/import/job/job_completion.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
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
ImportedJob job_of(const std::string& file, const LogSection& section, const ImportedJob& base) {
  ImportedJob job = base;
  read_argument_dump(file, section.arguments, job);
  read_engine_arguments(section.engine_arguments, job);  // has the last word on ZeRO and batches
  if (!job.model.max_positions) job.model.max_positions = job.plan.seq_len;
  if (job.model.name.empty()) job.model.name = stem(file);
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
                    ImportedJob job) {
  LoggedRun run;
  if (batch.global_batch > 0) job.plan.gbs = batch.global_batch;
  complete(job);
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
  const auto whole = [&](const char* column, const std::optional<std::int64_t>& value) {
    if (value) cells[column] = std::to_string(*value);
  };
  const auto flag = [&](const char* column, const std::optional<bool>& value) {
    if (value) cells[column] = *value ? "1" : "0";
  };
  const auto number = [&](const char* column, const std::optional<double>& value) {
    if (value) cells[column] = fmt::format("{:.7g}", *value);
  };
  const ImportedModel& model = run.job.model;
  const PlanRequest& plan = run.job.plan;
  cells["id"] = run.id;
  cells["source"] = run.source;
  cells["cluster"] = run.job.cluster.value_or("");
  cells["software"] = run.job.software.value_or("");
  const char* framework = run.job.says("deepspeed") ? "deepspeed" : "megatron-lm";
  cells["framework"] =
      run.torchtitan ? "torchtitan" : run.job.names->framework(framework).framework;
  whole("gpus", run.job.value("devices"));
  cells["model"] = model.name;
  whole("layers", model.layers);
  whole("hidden", model.hidden);
  whole("heads", model.heads);
  whole("kv_heads", model.kv_heads);
  whole("ffn_hidden", model.ffn_hidden);
  whole("vocab", model.vocab);
  if (model.mlp) cells["mlp"] = name(*model.mlp);
  if (model.position) cells["position"] = name(*model.position);
  flag("tied_embeddings", model.tied_embeddings);
  each_axis([&](const auto& axis) {
    if (const auto& value = axis.of(plan)) cells[std::string(axis.column)] = cell_of(*value);
  });
  if (!plan.seq_len) whole("seq_len", model.max_positions);
  if (run.job.says("launch")) cells["launch"] = run.job.text("launch");
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
                                   const ImportedJob& job, const ImportNames& names,
                                   ImportReport& report) {
  std::vector<LoggedRun> runs;
  for (std::size_t i = 0; i < log.sections.size(); ++i) {
    const LogSection& section = log.sections[i];
    ImportedJob said = job_of(file, section, job);
    replace_by_names(said, names);
    const auto batches = settled(section);
    for (const BatchTimes* batch : batches) {
      runs.push_back(timed_run(file, section, *batch, said));
      name_run(runs.back(), file, i);
    }
    report_section(file, section, batches, report);
    if (!section.out_of_memory) continue;
    if (batches.empty()) {
      runs.emplace_back().job = said;
      complete(runs.back().job);
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
