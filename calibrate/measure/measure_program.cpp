#include "calibrate/measure/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

/// A line on stderr that is drawn again after every point; nothing when stderr is no terminal.
PointProgress progress_bar() {
  if (isatty(STDERR_FILENO) == 0) return [](std::size_t, std::size_t, Seconds) {};
  return [](std::size_t done, std::size_t points, Seconds left) {
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = kWidth * done / points;
    const int seconds = static_cast<int>(left.value);
    fmt::print(stderr, "\r[{}{}] {}/{} points, at most {}:{:02} left ", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), done, points, seconds / 60, seconds % 60);
    if (done == points) fmt::print(stderr, "\n");
    std::fflush(stderr);
  };
}

constexpr int kExitBadInput = 2;
/// A clock below this share of its highest was held down by heat or power.
constexpr double kHeldDown = 0.95;

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

/// Tells what is not measured, as the device or a library that this program was built without lacks
/// it, and which of the rest nobody has seen on a device yet.
void tell_limits(const Backend& backend) {
  const auto context = backend.context();
  const auto lacks = context.find("not_measured");
  if (lacks != context.end()) fmt::print(stderr, "not measured: {}\n", lacks->second);
  for (const Unproven& one : backend.unproven()) {
    fmt::print(stderr, "not proven on a device: {}: {}\n", one.kernels, one.what);
  }
}

/// How the clock fared: constants are those of the clock that they were measured at.
void tell_clocks(const SessionResult& result) {
  if (result.highest_mhz <= 0.0) return;
  fmt::print(stderr, "clock while measuring: {:.0f} to {:.0f} MHz{}\n", result.lowest_mhz,
             result.highest_mhz,
             result.lowest_mhz < kHeldDown * result.highest_mhz
                 ? "; it was held down at times, and points differ by it (sm_mhz, throttle)"
                 : "");
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

int run(const Options& options, const Clock& clock) {
  SessionOptions session;
  session.budget = budget_of(options);
  if (!options.shapes.empty()) {
    session.first = read_works(options.shapes, read_file(options.shapes));
  }
  const auto backend = make_backend(options.backend, clock);
  std::optional<Journal> journal;
  const auto refused = open_journal(options, *backend, journal);
  if (!backend->agree(journal.has_value())) {
    if (refused) throw *refused;
    return kExitBadInput;
  }
  const bool shows = backend->is_first() && !options.quiet;
  if (shows) tell_limits(*backend);
  const SessionResult result = run_session(
      *backend, journal ? &*journal : nullptr, session, clock,
      shows ? progress_bar() : [](std::size_t, std::size_t, Seconds) {});
  if (shows) {
    fmt::print(
        stderr,
        "{}: {} points measured, {} were there, {} skipped (the file says why), {} left out for "
        "want of time\n",
        options.output, result.measured, result.resumed, result.skipped, result.left);
    tell_clocks(result);
  }
  return 0;
}

}  // namespace

int run_measure_program(int argc, char** argv, const Clock& clock) {
  Options options;
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
    return run(options, clock);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return kExitBadInput;
  } catch (const InputError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return kExitBadInput;
  } catch (const DeviceError& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return kExitDevice;
  } catch (const std::exception& error) {
    fmt::print(stderr, "prequel-measure: {}\n", error.what());
    return kExitDevice;
  }
}

}  // namespace prequel
