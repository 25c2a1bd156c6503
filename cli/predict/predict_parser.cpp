#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/flags/site_flags.hpp"
#include "cli/flags/value_lists.hpp"
#include "cli/predict/predict_options.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

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
              add_override(overrides,
                           {std::string("what_if.") + field + "." + value.substr(0, colon),
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
  constexpr std::array<std::array<const char*, 4>, 3> kFields{{
      {"--jitter", "jitter", "SHARE",
       "relative standard deviation of each rank's time in each layer"},
      {"--seed", "seed", "N", "seed of the jitter"},
      {"--samples", "samples", "N", "iterations to draw"},
  }};
  for (const auto& [flag, field, type, help] : kFields) {
    const std::string path = std::string("what_if.") + field;
    command
        .add_option_function<std::string>(
            flag,
            [&overrides, path, from = std::string(flag)](const std::string& value) {
              add_override(overrides, {path, value, from});
            },
            help)
        ->type_name(type)
        ->group("What if");
  }
}

constexpr const char* kGroup = "Whole run";
constexpr std::int64_t kMostSizes = 1 << 16;

/// FIRST:LAST:INCREMENT.
BatchRamp batch_ramp(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : CLI::detail::split(text, ':')) {
    numbers.push_back(parse_integer(part).value_or(0));
  }
  const auto is_positive = [](std::int64_t number) { return number > 0 && number <= 1 << 30; };
  if (numbers.size() != 3 || !std::ranges::all_of(numbers, is_positive)) {
    throw InputError("--gbs-ramp " + printable(text) +
                     ": expected FIRST:LAST:INCREMENT, such as 16:2048:16");
  }
  const BatchRamp ramp{numbers[0], numbers[1], numbers[2]};
  if (ramp.first > ramp.last || (ramp.last - ramp.first) % ramp.increment != 0 ||
      ramp.increments() > kMostSizes) {
    throw InputError("--gbs-ramp " + printable(text) +
                     ": from FIRST to LAST must be a whole number of increments, at most 65536");
  }
  return ramp;
}

/// `add_amount` in the group of this page.
template <class Quantity, class Parse>
void add_run_amount(CLI::App& command, const std::string& flag, Quantity& amount, Parse parse,
                    const char* form, const char* example, const char* help) {
  add_amount(command, flag, amount, parse, form, example, help)->group(kGroup);
}

void add_reservation_flags(CLI::App& command, ReservationQuestion& question, CLI::Option* tokens) {
  const auto add = [&](CLI::Option* option) { option->group(kReservationGroup)->needs(tokens); };
  add(add_amount(command, "--reservation", question.length, parse_duration, "DURATION", "30d",
                 "for which nodes are reserved: days, tokens, stops, cost and energy with their "
                 "odds"));
  add_site_flags(command, question, tokens);
  add(command
          .add_option_function<std::string>(
              "--over-nodes",
              [&question](const std::string& text) {
                question.over_nodes = whole_numbers("--over-nodes", text, 1, 1 << 20);
              },
              "the same on these numbers of nodes: where more stop paying")
          ->type_name("LIST"));
  add(command.add_option("--replications", question.replications, "ways that it may go, played")
          ->check(CLI::Range(10, 1000000).description("")));
}

/// Adds the flags that ask about a whole training.
void add_run_flags(CLI::App& command, RunQuestion& question) {
  command
      .add_option_function<std::string>(
          "--gbs-ramp", [&question](const std::string& text) { question.ramp = batch_ramp(text); },
          "global batch sizes during training, sequences: the curve of sec/iter")
      ->type_name("FIRST:LAST:INCREMENT")
      ->group(kGroup);
  CLI::Option* tokens =
      command.add_option("--tokens", question.tokens, "tokens of the whole training: 15T")
          ->transform(spelled_amount())
          ->group(kGroup);
  command.add_option("--epochs", question.epochs, "passes over a data set, in place of --tokens")
      ->check(positive_amount())
      ->excludes(tokens)
      ->group(kGroup);
  command
      .add_option("--sequences", question.sequences,
                  "sequences of the data set; a named one (--lengths) has its own")
      ->transform(spelled_amount())
      ->needs("--epochs")
      ->group(kGroup);
  command.add_option("--price", question.price, "price of one GPU-hour")
      ->check(positive_amount())
      ->group(kGroup);
  command
      .add_option("--ramp-samples", question.ramp_samples,
                  "sequences over which the batch grows, in equal parts a size")
      ->check(positive_amount())
      ->needs("--gbs-ramp")
      ->needs(tokens)
      ->group(kGroup);
  add_run_amount(command, "--checkpoint-bandwidth", question.checkpoint_bandwidth, parse_rate,
                 "RATE", "\"40 GB/s\"", "at which the job writes and reads checkpoints");
  add_run_amount(command, "--mtbf", question.mtbf, parse_duration, "DURATION", "5d",
                 "mean time between failures of the whole job");
  add_run_amount(command, "--checkpoint-interval", question.checkpoint_interval, parse_duration,
                 "DURATION", "3h", "training between two checkpoints (default: the best)");
  add_run_amount(command, "--restart", question.restart, parse_duration, "DURATION", "10m",
                 "time to start again after a failure, beside reading the checkpoint (default: 0; "
                 "with --reservation, the site's)");
  CLI::Option* interval = command
                              .add_option("--eval-interval", question.eval_interval,
                                          "iterations between two evaluations")
                              ->check(CLI::Range(1, 1 << 30).description(""))
                              ->needs(tokens)
                              ->group(kGroup);
  CLI::Option* iters =
      command.add_option("--eval-iters", question.eval_iters, "global batches in one evaluation")
          ->check(CLI::Range(1, 1 << 30).description(""))
          ->needs(interval)
          ->group(kGroup);
  interval->needs(iters);
  add_reservation_flags(command, question.reservation, tokens);
}

}  // namespace

void add_predict(CLI::App& app, PredictOptions& options, const Action& action) {
  CLI::App& command =
      *app.add_subcommand("predict", "Seconds per iteration, memory and utilisation of one plan");
  command.footer(
      "  prequel predict bloom-176b-jean-zay --mbs 2\n"
      "  prequel predict --model gpt3-175b --cluster jean-zay-a100 --nodes 48 --tp 8 "
      "--pp 12 --gbs 1536 --json\n");
  add_job(command, options.request);
  add_script(command, options.script);
  command.add_option("--flops", options.flops_convention, "how FLOPs are counted")
      ->type_name("prequel|causal|megatron-hw|bs-noemb|mosaic-2023|mosaic-2023-star");
  add_what_if(command, options.request.overrides);
  command
      .add_flag("--contention", options.contention,
                "let flows share links, collectives slow kernels, and the host fall behind")
      ->group("What if");
  add_run_flags(command, options.run);
  add_report(command, options.report);
  CLI::Option* trace =
      command.add_option("--trace", options.trace, "writes a trace that Perfetto and Chrome open")
          ->type_name("FILE")
          ->check(file_beside_answer());
  command.add_option("--detail", options.detail, "detail of the trace within each pass")
      ->type_name("layer|kernel")
      ->check(CLI::IsMember({"layer", "kernel"}).description(""))
      ->needs(trace);
  command
      .add_option("--memory-snapshot", options.memory_snapshot,
                  "writes memory over a step as PyTorch does, for pytorch.org/memory_viz")
      ->type_name("FILE.pickle")
      ->check(file_beside_answer());
  command
      .add_option("--ranks", options.ranks,
                  "ranks that trace and snapshot show: one a stage, or these")
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

}  // namespace prequel
