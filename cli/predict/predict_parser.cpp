#include <array>

#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/predict/predict_options.hpp"
#include "cli/predict/run_flags.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

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
