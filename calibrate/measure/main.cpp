/// prequel-measure: measures this machine into a file. `prequel calibrate measure` runs it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "calibrate/measure/backends.hpp"
#include "calibrate/measure/progress_bar.hpp"
#include "calibrate/measure/session.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

constexpr int kExitBadInput = 2;
constexpr int kExitDevice = 3;

struct Options {
  std::string backend;
  std::string budget{"10m"};
  std::string output;
  std::string shapes;  ///< file; empty: the grid alone
  bool resume{};
  bool quiet{};
};

Seconds budget_of(const Options& options) {
  const auto budget = parse_duration(options.budget);
  if (budget) return *budget;
  throw InputError(fmt::format("--budget: expected a time such as 10m or 90 s, got {}",
                               in_quotes(options.budget)));
}

std::string context_text(const Backend& backend) {
  return nlohmann::json(backend.context())
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What the device or a library that this program was built without would have had.
void tell_not_measured(const Backend& backend) {
  const auto context = backend.context();
  const auto lacks = context.find("not_measured");
  if (lacks != context.end()) fmt::print(stderr, "not measured: {}\n", lacks->second);
}

/// The first process of a group opens the file; the others learn whether it could.
std::optional<InputError> open_journal(const Options& options, Backend& backend,
                                       std::optional<Journal>& journal) {
  if (!backend.is_first()) return std::nullopt;
  try {
    journal.emplace(options.output, options.resume, context_text(backend));
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

int run(const Options& options) {
  SessionOptions session;
  session.budget = budget_of(options);
  if (!options.shapes.empty()) {
    session.first = read_works(options.shapes, read_file(options.shapes));
  }
  const auto backend = make_backend(options.backend);
  std::optional<Journal> journal;
  const auto refused = open_journal(options, *backend, journal);
  if (!backend->agree(journal.has_value())) {
    if (refused) throw *refused;
    return kExitBadInput;
  }
  const bool shows = backend->is_first() && !options.quiet;
  if (shows) tell_not_measured(*backend);
  const SessionResult result = run_session(
      *backend, journal ? &*journal : nullptr, session, steady_clock(),
      shows ? progress_bar() : [](std::size_t, std::size_t, Seconds) {});
  if (shows) {
    fmt::print(
        stderr,
        "{}: {} points measured, {} were there, {} skipped (the file says why), {} left out for "
        "want of time\n",
        options.output, result.measured, result.resumed, result.skipped, result.left);
  }
  return 0;
}

}  // namespace
}  // namespace prequel

int main(int argc, char** argv) {
  prequel::Options options;
  CLI::App app("Measures this machine into a file that `prequel calibrate fit` reads.",
               "prequel-measure");
  app.add_option("--backend", options.backend, "cpu, mpi, cuda, nccl, hip or rccl")->required();
  app.add_option("--budget", options.budget, "time to spend at most, e.g. 10m (the default)");
  app.add_option("--output", options.output, "measurement file to write")->required();
  app.add_option("--shapes", options.shapes,
                 "JSON Lines as in a measurement file: points to measure before the grid");
  app.add_flag("--resume", options.resume, "go on with the file: measure what it lacks");
  app.add_flag("--quiet,-q", options.quiet, "no progress");
  try {
    app.parse(argc, argv);
    return prequel::run(options);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return prequel::kExitBadInput;
  } catch (const prequel::InputError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return prequel::kExitBadInput;
  } catch (const prequel::DeviceError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return prequel::kExitDevice;
  } catch (const std::exception& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return prequel::kExitDevice;
  }
}
