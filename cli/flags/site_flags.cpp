#include "cli/flags/site_flags.hpp"

#include "hw/base/unit_text.hpp"

namespace prequel {

void add_site_flags(CLI::App& command, ReservationQuestion& question, CLI::Option* tokens) {
  const auto add = [&](CLI::Option* option) { option->group(kReservationGroup)->needs(tokens); };
  add(command.add_option("--spares", question.spares, "nodes reserved beside those of the plan")
          ->check(CLI::Range(0, 1 << 20).description("")));
  add(add_word<Saving>(command, "--saving", question.saving, "sync|async",
                       "sync: training stands still while a checkpoint is written (default before "
                       "2024)"));
  add(command
          .add_option("--maturity", question.maturity,
                      "class of the site, for failures and restarts that its cluster's file does "
                      "not state (default: mature)")
          ->type_name("mature|new"));
  add(command.add_option("--pue", question.pue, "power of the building over its machines'")
          ->check(CLI::Range(1.0, 10.0).description("")));
  add(add_word<WithoutSpare>(command, "--without-spare", question.without_spare, "wait|shrink|stop",
                             "reaction of a job that lacks a node (default: wait)"));
  add(add_amount(command, "--walltime", question.walltime, parse_duration, "DURATION", "20h",
                 "after which a job ends and another one goes on (default: none)"));
  add(add_amount(command, "--queue", question.queue, parse_duration, "DURATION", "30m",
                 "wait before a job starts again (default: none)"));
}

}  // namespace prequel
