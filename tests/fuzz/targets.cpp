#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "calibrate/readings/kineto_trace.hpp"
#include "calibrate/readings/nccl_tests.hpp"
#include "calibrate/validate/measured_runs.hpp"
#include "cli/flags/value_lists.hpp"
#include "cli/import/configs/config_values.hpp"
#include "cli/import/configs/json_configs.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/name_files.hpp"
#include "cli/import/logged_runs.hpp"
#include "cli/import/named_inputs.hpp"
#include "cli/import/python/python_values.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "cli/import/shell/launch_script.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/cluster.hpp"
#include "hw/device.hpp"
#include "models/plan/rules.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"
#include "sim/search/requirement.hpp"

namespace prequel {
namespace {

/// A job that knows what other programs call its settings.
Facts with_names() {
  static const auto names = std::make_shared<const ForeignNames>(read_foreign_names(Library({})));
  Facts job;
  job.names = names;
  return job;
}

/// Like assert, but in every build.
void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// A job that was imported can be written, and what is written is JSON.
void check_job(Facts job) {
  complete(job);
  complete_by_names(job, {});
  (void)report_text(job.report);
  const std::string json = job_json(resolve(job), "fuzz");
  must(nlohmann::json::parse(json, nullptr, false).is_object(), "a job is a JSON object");
  refuse_contradictions(job, "fuzz");
}

void launch_script(std::string_view text) {
  const LaunchScript script = read_launch_script("train.sh", text);
  Facts job = with_names();
  job.set_flag("script");
  read_megatron_arguments("train.sh", script.words, job);
  assume_megatron_defaults(job);
  check_job(job);
}

TrainingLog log_in_pieces(std::string_view text, std::size_t piece) {
  TrainingLogReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  return reader.finish();
}

void training_log(std::string_view text) {
  const TrainingLog log = log_in_pieces(text, text.size() + 1);
  const TrainingLog again = log_in_pieces(text, 1 + text.size() / 7);
  must(log.iteration_lines == again.iteration_lines && log.broken_lines == again.broken_lines &&
           log.sections.size() == again.sections.size(),
       "pieces of any size give the same");
  if (!log.found()) return;
  ImportReport report;
  const auto runs = logged_runs("log.txt", log, with_names(), {}, report);
  std::istringstream table(runs_csv(runs));
  must(read_measured_runs(table, "runs.csv").size() == runs.size(), "a run is a row");
  check_job(runs.front().job);
}

void hugging_face_config(std::string_view text) {
  const Document document = Document::parse("config.json", text);
  if (!is_hugging_face_config(document)) return;
  Facts job = with_names();
  read_hugging_face_config(document, job);
  (void)read_transformer(Document::parse("model", model_json(resolve(job).model, "fuzz")));
}

void deepspeed_config(std::string_view text) {
  const Document document = Document::parse("ds_config.json", text);
  if (!is_deepspeed_config(document)) return;
  Facts job = with_names();
  read_deepspeed_config(document, job);
  check_job(job);
}

void yaml_config(std::string_view text) {
  (void)looks_like_yaml(text);
  Facts job = with_names();
  const ConfigTree tree = yaml_tree("config.yaml", text, job.report.left_out);
  (void)commands_of_tree(tree);
  read_yaml_config("config.yaml", text, tree, job);
  assume_megatron_defaults(job);
  check_job(job);
}

void toml_config(std::string_view text) {
  Facts job = with_names();
  read_config_tree("config.toml", "TOML", toml_tree("config.toml", text), job);
  look_up_flavour(nullptr, job);
  assume_megatron_defaults(job);
  check_job(job);
}

void python_config(std::string_view text) {
  (void)looks_like_python(text);
  (void)command_of_recipe(text);
  Facts job = with_names();
  read_python_config("config.py", text, job);
  assume_megatron_defaults(job);
  check_job(job);
}

void runs_table(std::string_view text) {
  std::istringstream in{std::string(text)};
  for (const MeasuredRun& run : read_measured_runs(in, "runs.csv")) {
    must(run.line >= 2, "the header is no row");
    must(!run.sec_per_iter || *run.sec_per_iter > 0, "times are positive");
  }
}

void check_points(const MeasurementFile& file) {
  for (const auto& point : file.points) must(point.time.value > 0, "times are positive");
}

void nccl_log(std::string_view text) {
  std::istringstream in{std::string(text)};
  check_points(read_nccl_log(in, "all_reduce_perf.log"));
}

void nccl_json(std::string_view text) {
  std::istringstream in{std::string(text)};
  check_points(read_nccl_json(in, "all_reduce_perf.json"));
}

void kineto_trace(std::string_view text) {
  std::istringstream in{std::string(text)};
  const KinetoTrace trace = read_kineto_trace(in, "trace.json");
  check_points(trace.file);
  for (const KernelSum& sum : trace.sums) must(sum.time.value >= 0, "sums are of times");
}

/// All readers of prequel's own files on the same text; each may refuse it.
void own_json(std::string_view text) {
  const auto read = [&](const auto& reader) {
    try {
      (void)reader(Document::parse("file.json", text));
    } catch (const InputError& refused) {
      must(!refused.problems().empty(), "a refusal says why");
    }
  };
  read([](const Document& file) { return read_transformer(file); });
  read([](const Document& file) { return read_device(file); });
  read([](const Document& file) { return read_cluster(file); });
  read([](const Document& file) { return read_software(file); });
}

/// An expression that can be read can be judged; it says the same each time.
void requirement(std::string_view text) {
  const Requirement parsed = Requirement::parse(std::string(text));
  Plan plan;
  plan.dp = 8;
  plan.gbs = 2048;
  plan.schedule = Schedule::one_f_one_b;
  Transformer model;
  model.layers = 70;
  const PlanFacts facts{plan, model, 53.5};
  must(parsed.holds(facts) == parsed.holds(facts), "a requirement holds or does not");
}

/// A layout that can be read can be judged, whatever its numbers.
void layout(std::string_view text) {
  Transformer model;
  model.layers = 70;
  model.heads = model.kv_heads = 112;
  model.head_dim = 128;
  model.hidden = 14336;
  model.ffn_hidden = 4 * model.hidden;
  model.vocab = 250880;
  model.max_positions = 2048;
  Cluster cluster;
  cluster.nodes = 52;
  cluster.devices_per_node = 8;
  const Software software;
  const PlanJudgement judged =
      judge_plan(read_layout("--explain", std::string(text)), model, cluster, software);
  must(judged.plan.tp >= 1 && judged.plan.gpus >= 1, "degrees are positive");
}

/// A list of values is ascending, within its bounds and not too long.
void whole_numbers_of_an_axis(std::string_view text) {
  const auto values = whole_numbers("--tp", std::string(text), 1, 8192);
  must(!values.empty() && values.front() >= 1 && values.back() <= 8192, "values are in bounds");
  must(std::ranges::is_sorted(values), "values are in order");
}

}  // namespace

constexpr std::array<FuzzTarget, 15> kTargets{{{"launch_script", launch_script},
                                               {"training_log", training_log},
                                               {"hugging_face_config", hugging_face_config},
                                               {"deepspeed_config", deepspeed_config},
                                               {"yaml_config", yaml_config},
                                               {"toml_config", toml_config},
                                               {"python_config", python_config},
                                               {"runs_table", runs_table},
                                               {"nccl_log", nccl_log},
                                               {"nccl_json", nccl_json},
                                               {"kineto_trace", kineto_trace},
                                               {"own_json", own_json},
                                               {"requirement", requirement},
                                               {"layout", layout},
                                               {"axis", whole_numbers_of_an_axis}}};
const std::array<FuzzTarget, 15> kFuzzTargets = kTargets;

}  // namespace prequel
