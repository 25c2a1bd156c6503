#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/calibrate_parser.hpp"
#include "cli/command_tree.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/options.hpp"
#include "cli/parse_problem.hpp"
#include "cli/positive_amount.hpp"
#include "cli/run_flags.hpp"
#include "cli/search_options.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// One flag of the plan: how scripts and Megatron spell it, and the plan's field.
struct PlanFlag {
  const char* flags;
  const char* field;
  const char* help;
  const char* values = "N";  ///< what it takes
};
constexpr PlanFlag kPlanFlags[] = {
    {"--nodes", "nodes", "nodes in use"},
    {"--dp,--data-parallel-size", "dp", "data-parallel degree"},
    {"--tp,--tensor-model-parallel-size", "tp", "tensor-parallel degree"},
    {"--pp,--pipeline-model-parallel-size", "pp", "pipeline stages"},
    {"--cp,--context-parallel-size", "cp", "context-parallel degree"},
    {"--ep,--expert-model-parallel-size", "ep", "expert-parallel degree"},
    {"--vpp", "vpp", "model chunks per pipeline stage"},
    {"--mbs,--micro-batch-size", "mbs", "micro batch, sequences"},
    {"--gbs,--global-batch-size", "gbs", "global batch, sequences"},
    {"--seq-len,--seq-length", "seq_len", "tokens of a sequence"},
    {"--zero,--zero-stage", "zero", "ZeRO stage", "0|1|2|3"},
    {"--offload", "offload", "what host memory holds", "none|optimizer|optimizer+params"},
    {"--recompute", "recompute", "activations that the backward pass recomputes",
     "none|selective|full"},
    {"--recompute-layers,--recompute-num-layers", "recompute_layers",
     "layers between two checkpoints of full recompute"},
    {"--precision", "precision", "of matrix products", "fp32|tf32|fp16|bf16|fp8"},
    {"--attention", "attention", "its implementation", "unfused|fused-softmax|flash"},
    {"--schedule", "schedule", "pipeline schedule, e.g. 1f1b", "NAME"},
};

/// Help that begins with the examples; they are kept as the command's footer.
class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    return "Examples:\n" + app->get_footer() + "\n" + CLI::Formatter::make_description(app);
  }
  [[nodiscard]] std::string make_footer(const CLI::App* /*app*/) const override { return {}; }
};

void add_format(CLI::App& command, OutputFormat& format, bool with_csv) {
  command.add_flag_callback(
      "--json", [&format] { format = OutputFormat::json; }, "print one JSON document");
  if (!with_csv) return;
  command.add_flag_callback(
      "--csv", [&format] { format = OutputFormat::csv; }, "print one table");
}

void add_report(CLI::App& command, std::string& file) {
  command.add_option("--report", file, "write a report that a browser shows")
      ->type_name("FILE.html");
}

/// `others` print something else on stdout.
void add_emit(CLI::App& command, std::string& framework,
              std::initializer_list<const char*> others) {
  CLI::Option* emit =
      command
          .add_option("--emit", framework, "print the plan as the launch of this framework instead")
          ->type_name("megatron|deepspeed|fsdp")
          ->check(CLI::IsMember({"megatron", "deepspeed", "fsdp"}).description(""));
  for (const char* other : others) emit->excludes(command.get_option(other));
}

void add_set(CLI::App& command, std::vector<Override>& overrides) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings) {
              const std::size_t equals = setting.find('=');
              if (equals == std::string::npos) {
                throw InputError("--set " + setting + ": expected PATH=VALUE");
              }
              overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1), "--set"});
            }
          },
          "override any field: software.launch=blocking, device.clock_ghz=2.2")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_name(CLI::App& command, const char* flag, std::optional<std::string>& name,
              const char* help) {
  command.add_option_function<std::string>(
      flag, [&name](const std::string& value) { name = value; }, help);
}

void add_inputs(CLI::App& command, JobRequest& request) {
  add_name(command, "--model", request.model, "model name or file, or a Hugging Face config.json");
  add_name(command, "--cluster", request.cluster, "cluster name or file");
  add_name(command, "--device", request.device, "device name or file");
  add_name(command, "--software", request.software, "software stack name or file");
}

void add_plan_flag(CLI::App& command, const PlanFlag& flag, std::vector<Override>& overrides) {
  const std::string path = std::string("plan.") + flag.field;
  const std::string first = std::string(flag.flags).substr(0, std::string(flag.flags).find(','));
  command
      .add_option_function<std::string>(
          flag.flags,
          [&overrides, path, first](const std::string& value) {
            overrides.push_back({path, value, first});
          },
          flag.help)
      ->type_name(flag.values)
      ->group("Plan");
}

void add_plan_flags(CLI::App& command, std::vector<Override>& overrides) {
  for (const PlanFlag& flag : kPlanFlags) add_plan_flag(command, flag, overrides);
  command
      .add_flag_function(
          "--sequence-parallel,!--no-sequence-parallel",
          [&overrides](std::int64_t count) {
            overrides.push_back(
                {"plan.sequence_parallel", count > 0 ? "true" : "false", "--sequence-parallel"});
          },
          "split norms and dropouts over the tensor-parallel group")
      ->group("Plan");
}

/// A repeatable flag whose value KEY:NUMBER sets one member of a field of what_if.
void add_keyed_what_if(CLI::App& command, std::vector<Override>& overrides, const char* flag,
                       const char* field, const char* form, const char* help) {
  command
      .add_option_function<std::vector<std::string>>(
          flag,
          [&overrides, flag, field, form](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
              const std::size_t colon = value.find(':');
              if (colon == 0 || colon == std::string::npos || value.find('.') < value.find(':')) {
                throw InputError(std::string(flag) + " " + printable(value) + ": expected " + form);
              }
              overrides.push_back({std::string("what_if.") + field + "." + value.substr(0, colon),
                                   value.substr(colon + 1), flag});
            }
          },
          help)
      ->type_name(std::string(form).substr(0, std::string(form).find(',')))
      ->allow_extra_args(false)
      ->group("What if");
}

void add_what_if(CLI::App& command, std::vector<Override>& overrides) {
  add_keyed_what_if(command, overrides, "--slow-node", "slow_nodes", "NODE:SPEED, such as 7:0.9",
                    "a node whose devices compute at this share of their speed (repeatable)");
  add_keyed_what_if(command, overrides, "--link-fraction", "link_fractions",
                    "LEVEL:FRACTION, such as spine:0.5",
                    "links of a level of the fabric at this share of their rate (repeatable)");
  constexpr std::array<std::array<const char*, 3>, 3> kFields{{
      {"--jitter", "jitter", "relative standard deviation of each rank's time in each layer"},
      {"--seed", "seed", "of the jitter"},
      {"--samples", "samples", "iterations to draw"},
  }};
  for (const auto& [flag, field, help] : kFields) {
    const std::string path = std::string("what_if.") + field;
    command
        .add_option_function<std::string>(
            flag,
            [&overrides, path, from = std::string(flag)](const std::string& value) {
              overrides.push_back({path, value, from});
            },
            help)
        ->type_name("")
        ->group("What if");
  }
}

/// What names one job: its file, its inputs and its plan.
void add_job(CLI::App& command, JobRequest& request) {
  command.add_option_function<std::string>(
      "job", [&request](const std::string& job) { request.job = job; },
      "job file, the name of a shipped one, or a Megatron launch script or log (- for stdin)");
  add_inputs(command, request);
  add_plan_flags(command, request.overrides);
  add_set(command, request.overrides);
}

void add_predict(CLI::App& app, PredictOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("predict", "Seconds per iteration, memory and utilisation of one plan");
  command.footer(
      "  prequel predict bloom-176b-jean-zay --mbs 2\n"
      "  prequel predict --model gpt3-175b --cluster jean-zay-a100 --nodes 48 --tp 8 "
      "--pp 12 --gbs 1536 --json\n");
  add_job(command, options.request);
  command.add_option("--flops", options.flops_convention, "how FLOPs are counted")
      ->type_name("prequel|megatron-hw|bs-noemb|mosaic-2023|mosaic-2023-star");
  add_what_if(command, options.request.overrides);
  command
      .add_flag("--contention", options.contention,
                "let flows share links, collectives slow kernels, and the host fall behind")
      ->group("What if");
  add_run_flags(command, options.run);
  add_report(command, options.report);
  command.add_option("--trace", options.trace, "writes a trace that Perfetto and Chrome open")
      ->type_name("FILE");
  command.add_option("--detail", options.detail, "what the trace shows within each pass")
      ->type_name("layer|kernel")
      ->check(CLI::IsMember({"layer", "kernel"}).description(""));
  command.add_option("--ranks", options.ranks, "what the trace shows: one rank a stage, or these")
      ->type_name("LIST|stages");
  add_format(command, options.format, false);
  command
      .add_option("--explain", options.explain,
                  "say which model priced this kernel, and what holds it up (repeatable; all)")
      ->type_name("KERNEL")
      ->allow_extra_args(false);
  command.add_flag("--verbose,-v", options.verbose,
                   "list all kernels, with what each costs and what binds it");
  add_emit(command, options.emit, {"--json", "--explain", "--verbose"});
  command.callback(action);
}

/// Axes of which a search takes lists: Megatron's spelling too, and what they take.
constexpr PlanFlag kSearchAxes[] = {
    {"--nodes", "nodes", "nodes in use, exactly (default: the job's, else all of the cluster)",
     "LIST"},
    {"--dp,--data-parallel-size", "dp", "data-parallel degrees", "LIST"},
    {"--tp,--tensor-model-parallel-size", "tp", "tensor-parallel degrees", "LIST"},
    {"--pp,--pipeline-model-parallel-size", "pp", "pipeline stages", "LIST"},
    {"--vpp", "vpp", "model chunks per pipeline stage", "LIST"},
    {"--mbs,--micro-batch-size", "mbs", "micro batches, sequences", "LIST"},
    {"--gbs,--global-batch-size", "gbs", "global batches, sequences (default: the job's)", "LIST"},
    {"--zero,--zero-stage", "zero", "ZeRO stages", "LIST"},
    {"--recompute", "recompute", "activations recomputed", "none,selective,full"},
    {"--offload", "offload", "what host memory holds", "none,optimizer"},
    {"--sequence-parallel", "sequence-parallel", "sequence parallelism", "off,on"},
    {"--schedule", "schedule", "pipeline schedules, e.g. 1f1b,zb-h1", "NAMES"},
};
/// The model's shape, where it is free.
constexpr PlanFlag kShapeAxes[] = {
    {"--layers", "layers", "transformer blocks", "LIST"},
    {"--hidden", "hidden", "hidden sizes", "LIST"},
    {"--heads", "heads", "attention heads (default: the model's head size is kept)", "LIST"},
};
/// What all plans of a search share.
constexpr std::string_view kSharedFields[] = {"cp", "ep", "seq_len", "precision", "attention"};

void add_search(CLI::App& app, SearchOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("search", "Every legal plan under the given limits, the best first");
  command.footer(
      "  prequel search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048\n"
      "  prequel search bloom-176b-jean-zay --max-nodes 52 --reserve 4 --tp 4,8 --mbs 1:4 "
      "--require 'dp % 4 == 0'\n");
  command.add_option_function<std::string>(
      "job", [&options](const std::string& job) { options.request.job = job; },
      "job file, shipped job or launch script: its model, cluster, batch and nodes");
  add_inputs(command, options.request);
  const auto add_axis = [&command](const PlanFlag& axis, std::map<std::string, std::string>& axes) {
    return command
        .add_option_function<std::string>(
            axis.flags,
            [&axes, field = std::string(axis.field)](const std::string& value) {
              axes[field] = value;
            },
            axis.help)
        ->type_name(axis.values);
  };
  for (const PlanFlag& axis : kSearchAxes) {
    add_axis(axis, options.axes)
        ->group("Axes (lists such as 1,2,4 or 8:64:8; what is left out is searched)");
  }
  const std::string shape_group = "Shape of the model (lists; what is left out is as the model's)";
  for (const PlanFlag& axis : kShapeAxes) {
    add_axis(axis, options.shape_axes)->group(shape_group);
  }
  command
      .add_option("--parameters", options.parameters,
                  "parameters that every shape must have (default: as many as the model)")
      ->check(positive_amount())
      ->group(shape_group);
  command
      .add_option("--parameters-tolerance", options.parameters_tolerance,
                  "by what share of them a shape may miss that (default: 0.05)")
      ->check(CLI::Range(0.0, 1.0))
      ->group(shape_group);
  for (const PlanFlag& flag : kPlanFlags) {
    if (std::ranges::find(kSharedFields, flag.field) == std::end(kSharedFields)) continue;
    add_plan_flag(command, flag, options.request.overrides);
  }
  command.add_option("--max-nodes", options.max_nodes, "any number of nodes up to this")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes("--nodes");
  command.add_option("--reserve", options.reserve, "nodes to keep free of those")
      ->check(CLI::Range(0, 1 << 20));
  command.add_flag("--everything", options.everything,
                   "search all values of all axes, whether the stack offers them or not");
  command
      .add_option("--require", options.requirements,
                  "a condition on plans, e.g. 'gbs % 32 == 0 && mem_gib < 70' (repeatable)")
      ->type_name("EXPR")
      ->allow_extra_args(false);
  command
      .add_option("--plans", options.plans,
                  "rank the plans of this table (columns named as the plan's fields, or layers, "
                  "hidden and heads)")
      ->type_name("FILE.csv")
      ->excludes("--parameters");
  command
      .add_option("--explain", options.explain,
                  "say why this layout is not the best, e.g. tp=8,pp=12 (repeatable)")
      ->type_name("AXIS=VALUE,...")
      ->allow_extra_args(false)
      ->excludes("--plans");
  command.add_flag("--pareto", options.pareto,
                   "show the plans that no other beats in time, memory and nodes at once");
  command
      .add_option("--memory-headroom", options.memory_headroom,
                  "share of the device's memory that must stay free")
      ->check(CLI::Range(0.0, 0.99));
  command.add_option("--objective", options.objective, "what plans are ranked by")
      ->type_name("time|tokens|gpu-hours|cost")
      ->check(CLI::IsMember({"time", "tokens", "gpu-hours", "cost"}).description(""));
  command.add_option("--tokens", options.tokens, "tokens of the whole training")
      ->check(positive_amount());
  command.add_option("--price", options.price, "of one GPU-hour")->check(positive_amount());
  command.add_option("--top", options.top, "plans to print")->check(CLI::Range(1, 100000));
  add_set(command, options.request.overrides);
  add_report(command, options.report);
  add_format(command, options.format, true);
  add_emit(command, options.emit, {"--json", "--csv", "--explain", "--pareto"});
  for (const char* no_table : {"--explain", "--pareto"}) {
    command.get_option("--csv")->excludes(command.get_option(no_table));
  }
  command.callback(action);
}

void add_import(CLI::App& app, ImportOptions& options, const std::function<void()>& action) {
  CLI::App& command = *app.add_subcommand(
      "import", "Other tools' files to a job, training logs to a table of runs (on stdout)");
  command.footer(
      "  prequel import config.json ds_config.json > job.json\n"
      "  prequel import train.sh log.txt | prequel validate -\n");
  command
      .add_option("files", options.files,
                  "Hugging Face config.json, DeepSpeed ds_config.json, Megatron launch script, "
                  "training log (- for stdin); later ones override")
      ->required();
  add_name(command, "--cluster", options.cluster, "cluster name for the job");
  add_name(command, "--software", options.software, "software stack name for the job");
  command.callback(action);
}

void add_show(CLI::App& app, ShowOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("show", "Lists and prints models, devices, clusters, software and jobs");
  command.footer(
      "  prequel show models\n"
      "  prequel show device a100-sxm-80gb\n");
  command.add_option("kind", options.kind, "what to list")
      ->type_name("models|devices|clusters|software|jobs");
  command.add_option("name", options.name, "print this one, with the origin of each number");
  add_format(command, options.format, false);
  command.callback(action);
}

void add_validate(CLI::App& app, ValidateOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("validate", "Predicts measured runs and reports the errors");
  command.footer(
      "  prequel validate data/runs/bigscience-jz-a100.csv --by date\n"
      "  prequel validate mine.csv --max-mape 8 --worst 10\n");
  command.add_option("runs", options.files, "tables of measured runs (CSV; - for stdin)")
      ->required();
  command
      .add_option("--by", options.group_columns, "columns that make the groups, e.g. source,table")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--max-mape", options.max_mape,
                     "exit with 1 if the mean error of a group is above this percentage");
  command.add_option("--worst", options.worst, "how many of the worst rows to show");
  add_set(command, options.overrides);
  add_report(command, options.report);
  add_format(command, options.format, true);
  command.callback(action);
}

void add_completion(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("completion", "The script that lets a shell complete prequel's calls");
  command.footer(
      "  eval \"$(prequel completion bash)\"\n"
      "  prequel completion fish > ~/.config/fish/completions/prequel.fish\n");
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "the shell")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command.callback([&app, shell] {
    const Shell chosen = *shell == "bash"  ? Shell::bash
                         : *shell == "zsh" ? Shell::zsh
                                           : Shell::fish;
    fmt::print("{}", completion_script(describe(app), chosen));
  });
}

void add_manual(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("manual", "The manual page, for man");
  command.footer(
      "  prequel manual | man -l -\n"
      "  prequel manual > prequel.1\n");
  command.callback([&app] { fmt::print("{}", manual_page(describe(app), version())); });
}

/// Refuses values of flags that take none (`--json=3`), in all commands.
void let_flags_stand_alone(CLI::App& command) {
  for (CLI::Option* option :
       command.get_options([](const CLI::Option* any) { return any->get_expected_max() == 0; })) {
    option->disable_flag_override();
  }
  for (CLI::App* sub : command.get_subcommands(nullptr)) let_flags_stand_alone(*sub);
}

/// Whether `flag` is, in one of the commands, one that takes no value.
bool stands_alone(CLI::App& command, const std::string& flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  if (option != nullptr) return option->get_items_expected_max() == 0;
  return std::ranges::any_of(command.get_subcommands(nullptr),
                             [&](CLI::App* sub) { return stands_alone(*sub, flag); });
}

/// The parser takes `--json=true` for `--json`, and refuses `--json=yes`: refuse all of them.
void refuse_values_of_flags(CLI::App& app, int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const std::string flag = word.substr(0, word.find('='));
    if (word.starts_with("--") && word.ends_with("=true") && stands_alone(app, flag)) {
      throw CLI::ArgumentMismatch::FlagOverride(flag.substr(2));
    }
  }
}

void print_problems(const CommonOptions& common, const std::vector<std::string>& problems) {
  const std::string label = inked(terminal(stderr, common.color), Ink::red, "prequel:");
  for (const std::string& problem : problems) fmt::print(stderr, "{} {}\n", label, problem);
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Predicts time, memory and utilisation of distributed LLM training.", "prequel");
  app.formatter(std::make_shared<HelpFormat>());
  app.require_subcommand(1);
  app.fallthrough();
  CommonOptions common;
  PredictOptions predict;
  SearchOptions search;
  ImportOptions import;
  ShowOptions show;
  ValidateOptions validate;
  CalibrateOptions calibrate;
  int status = kExitDone;
  app.add_option("--data-dir", common.data_directories,
                 "look here first for models, devices, clusters, software (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--color", common.color, "colour the output")
      ->type_name("auto|always|never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  app.add_flag("--quiet,-q", common.quiet, "no warnings and no progress");
  add_predict(app, predict, [&] { status = run_predict(common, predict); });
  add_search(app, search, [&] { status = run_search(common, search); });
  add_import(app, import, [&] { status = run_import(common, import); });
  add_show(app, show, [&] { status = run_show(common, show); });
  add_validate(app, validate, [&] { status = run_validate(common, validate); });
  add_calibrate(app, calibrate,
                {.measure = [&] { status = run_calibrate_measure(common, calibrate.measure); },
                 .fit = [&] { status = run_calibrate_fit(common, calibrate.fit); },
                 .check = [&] { status = run_calibrate_check(common, calibrate.check); },
                 .compare = [&] { status = run_calibrate_compare(common, calibrate.compare); },
                 .runs = [&] { status = run_calibrate_runs(common, calibrate.runs); }},
                add_job);
  add_completion(app);
  add_manual(app);
  app.set_version_flag(
      "--version", [&] { return build_facts(Library(common.data_directories)); },
      "what this is and how it was built");
  app.footer(
      "  prequel predict bloom-176b-jean-zay\n"
      "  prequel validate data/runs/bigscience-jz-a100.csv\n");
  let_flags_stand_alone(app);
  try {
    refuse_values_of_flags(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    print_problems(common, {parse_problem(app, error) + "\nprequel --help shows how to call it"});
    return kExitBadInput;
  } catch (const InputError& error) {
    print_problems(common, error.problems());
    return kExitBadInput;
  } catch (const std::exception& error) {
    print_problems(common, {fmt::format("internal error: {}", error.what())});
    return kExitBadInput;
  }
  return status;
}

}  // namespace prequel
