#include "cli/calibrate/calibrate_parser.hpp"

#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/job_flags.hpp"

namespace prequel {
namespace {

void add_rows(CLI::App& command, std::vector<std::string>& files, std::vector<std::string>& where) {
  command
      .add_option("files", files,
                  "tables of measured kernels (CSV), measurement files, nccl-tests logs")
      ->required();
  command.add_option("--where", where, "keep only rows of this kind (repeatable); * is any text")
      ->type_name("COLUMN=VALUE|COLUMN!=VALUE")
      ->allow_extra_args(false);
}

void add_check(CLI::App& app, CalibrateCheckOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("check", "Errors of a device or cluster file against measurements");
  command.footer(
      "  prequel calibrate check kernels.csv --device a100-sxm-80gb --by operator\n"
      "  prequel calibrate check all-reduce.log --cluster jean-zay-a100\n");
  add_rows(command, options.files, options.where);
  add_name(command, "--device", options.device, "device name or file");
  add_name(command, "--cluster", options.cluster, "cluster name or file");
  command.add_option("--by", options.by,
                     "column that makes the groups; also: operator, size_class");
  command.add_option("--scale-per", options.scale_per,
                     "take one factor out for each value of this column, e.g. source");
  add_format(command, options.format, true);
  command.callback(action);
}

void add_fit(CLI::App& app, CalibrateFitOptions& options, const std::function<void()>& action) {
  CLI::App& command = *app.add_subcommand("fit", "Measurements to a device or cluster file");
  command.footer(
      "  prequel calibrate fit node.jsonl --kind device --device a64fx --name node --output "
      "node.json\n"
      "  prequel calibrate fit all-reduce.log --kind cluster --cluster dgx-a100 --name ours\n");
  add_rows(command, options.files, options.where);
  command.add_option("--kind", options.kind, "kind of the file that is written")
      ->required()
      ->type_name("device|cluster")
      ->check(CLI::IsMember({"device", "cluster"}).description(""));
  command.add_option("--name", options.name, "name of the new device or cluster")->required();
  command.add_option("--output", options.output, "file to write; - is stdout (the default)");
  add_name(command, "--device", options.device,
           "device whose constants stay where none is fitted; with --kind cluster, its device");
  add_name(command, "--cluster", options.cluster,
           "cluster whose constants stay where none is fitted");
  command.add_option("--scale-per", options.scale_per,
                     "column that names the environment; one factor is fitted for each");
  command.add_option("--folds", options.folds, "folds of the held-out error; 1: none")
      ->check(CLI::Range(1, 20));
  add_format(command, options.format, false);
  command.callback(action);
}

void add_measure(CLI::App& app, CalibrateMeasureOptions& options,
                 const std::function<void()>& action, const AddJob& add_job) {
  CLI::App& command = *app.add_subcommand(
      "measure", "Measures this machine into a file (under mpirun or srun: its collectives)");
  command.footer(
      "  prequel calibrate measure --backend cpu --budget 2m --output node.jsonl\n"
      "  mpirun -n 4 prequel calibrate measure --backend mpi --output links.jsonl\n"
      "  prequel calibrate measure bloom-176b-jean-zay --mbs 2 --backend cuda --output "
      "node.jsonl\n");
  add_job(command, options.request);
  command.add_option("--backend", options.backend, "backend that measures")
      ->required()
      ->type_name("cpu|mpi|cuda|nccl|hip|rccl");
  command.add_option("--output", options.output, "measurement file to write")
      ->required()
      ->check(file_beside_answer());
  command.add_option("--budget", options.budget, "time to spend at most (10m)");
  command.add_flag("--resume", options.resume, "go on with the file: measure what it lacks");
  command.callback(action);
}

void add_compare(CLI::App& app, CalibrateCompareOptions& options,
                 const std::function<void()>& action) {
  CLI::App& command = *app.add_subcommand(
      "compare", "Compares measurements: changes between two, or the slow one of several nodes");
  command.footer(
      "  prequel calibrate compare monday.jsonl tuesday.jsonl\n"
      "  prequel calibrate compare node1.jsonl node2.jsonl node3.jsonl --worst 10\n");
  command
      .add_option("files", options.files,
                  "measurement files; the first is what the others are compared with")
      ->required()
      ->expected(2, 10000);
  command.add_option("--worst", options.worst, "how many points to show of each file")
      ->check(CLI::NonNegativeNumber);
  add_format(command, options.format, false);
  command.callback(action);
}

void add_advise(CLI::App& app, CalibrateAdviseOptions& options, const std::function<void()>& action,
                const AddJob& add_job) {
  CLI::App& command =
      *app.add_subcommand("advise", "Names the measurements that would narrow a prediction most");
  command.footer(
      "  prequel calibrate advise bloom-176b-jean-zay\n"
      "  prequel calibrate advise job.json --cluster dgx-h100\n");
  add_job(command, options.request);
  command.add_option("--top", options.top, "how many measurements to show")
      ->check(CLI::NonNegativeNumber);
  add_format(command, options.format, false);
  command.callback(action);
}

}  // namespace

void add_calibrate_runs(CLI::App& calibrate, CalibrateRunsOptions& options,
                        const std::function<void()>& action) {
  CLI::App& command = *calibrate.add_subcommand(
      "runs", "Measured runs to the constants of device, cluster and software files");
  command.footer(
      "  prequel calibrate runs mine.csv --output-dir ours --suffix -2024\n"
      "  prequel calibrate runs mine.csv --fit software.host.fixed_per_iteration_s\n"
      "  prequel calibrate runs mine.csv --few 1,2,4,8\n"
      "  prequel calibrate runs mine.csv --fit cluster.network.efficiency --kind cluster --name "
      "ours --output ours.json\n");
  command.add_option("files", options.files, "tables of measured runs (CSV; - for stdin)")
      ->required();
  command
      .add_option("--fit", options.constants,
                  "a constant to fit alone, by name or by a field that it moves, e.g. host or "
                  "software.host.fixed_per_iteration_s (repeatable); left out: all that runs tell")
      ->type_name("NAME|PATH")
      ->allow_extra_args(false);
  command.add_option("--folds", options.folds, "folds of the held-out error; 1: none")
      ->check(CLI::Range(1, 100));
  command
      .add_option("--fold-by", options.fold_by,
                  "leave out all rows of a model, card, cluster or software at once")
      ->type_name("model|card|cluster|software")
      ->check(CLI::IsMember({"model", "card", "cluster", "software"}).description(""));
  command.add_option("--kind", options.kind, "kind of the file that is written")
      ->type_name("software|cluster")
      ->check(CLI::IsMember({"software", "cluster"}).description(""));
  command.add_option("--name", options.name, "name in the file that is written");
  command.add_option("--output", options.output, "write the file with the fitted constants here")
      ->check(file_beside_answer());
  command.add_option("--output-dir", options.output_directory,
                     "write all files that change into this data folder, for --data-dir");
  command.add_option("--suffix", options.suffix, "ending of their names (default: none)");
  command
      .add_option("--few", options.few,
                  "also the errors of the other rows after so many random ones are fitted")
      ->type_name("ROWS,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  command.add_option("--picks", options.picks, "random picks of rows for --few")
      ->check(CLI::Range(1, 1000));
  add_format(command, options.format, false);
  command.callback(action);
}

void add_calibrate(CLI::App& app, CalibrateOptions& options, const CalibrateActions& actions,
                   const AddJob& add_job) {
  CLI::App& command = *app.add_subcommand(
      "calibrate", "Measures machines, and makes and checks device and cluster files");
  command.footer(
      "  prequel calibrate measure --backend cpu --output node.jsonl\n"
      "  prequel calibrate check kernels.csv --device a100-sxm-80gb\n");
  command.require_subcommand(1);
  add_measure(command, options.measure, actions.measure, add_job);
  add_fit(command, options.fit, actions.fit);
  add_check(command, options.check, actions.check);
  add_compare(command, options.compare, actions.compare);
  add_calibrate_runs(command, options.runs, actions.runs);
  add_advise(command, options.advise, actions.advise, add_job);
}

}  // namespace prequel
