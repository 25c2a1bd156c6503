#include "cli/predict/run_flags.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/site_flags.hpp"
#include "cli/flags/value_lists.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

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

}  // namespace

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

}  // namespace prequel
