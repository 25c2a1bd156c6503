#include "calibrate/measure/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "hw/base/json_layout.hpp"

namespace prequel {
namespace {

using nlohmann::ordered_json;

/// Raw samples kept of a point, evenly picked: enough to see its distribution.
constexpr std::size_t kSamplesKept = 50;

/// Digits beyond these would only make the file longer, as they are beyond the clock's.
constexpr int kDigits = 6;

std::string results_text(const std::vector<double>& samples, const std::string& kernel,
                         const std::map<std::string, double>& state) {
  const Quantiles summary = quantiles(samples);
  ordered_json kept = ordered_json::array();
  const std::size_t step = (samples.size() + kSamplesKept - 1) / kSamplesKept;
  for (std::size_t i = 0; i < samples.size(); i += step)
    kept.push_back(rounded(samples[i], kDigits));
  ordered_json results{{"time_s", rounded(summary.median.value, kDigits)},
                       {"p10_s", rounded(summary.p10.value, kDigits)},
                       {"p90_s", rounded(summary.p90.value, kDigits)},
                       {"samples", samples.size()},
                       {"raw_s", kept}};
  if (!kernel.empty()) results["kernel"] = kernel;
  for (const auto& [what, value] : state) results[what] = value;
  return results.dump();
}

/// A time that is none would make a constant of nonsense.
void check_samples(const std::vector<double>& samples) {
  for (const double time : samples) {
    if (std::isfinite(time) && time > 0.0) continue;
    throw SkippedPoint(fmt::format("the timer told {:g} s", time));
  }
}

void add_clock(SessionResult& result, const std::map<std::string, double>& state) {
  const auto clock = state.find("sm_mhz");
  if (clock == state.end()) return;
  result.highest_mhz = std::max(result.highest_mhz, clock->second);
  result.lowest_mhz =
      result.lowest_mhz > 0.0 ? std::min(result.lowest_mhz, clock->second) : clock->second;
}

/// `first` as they are, then the rest of the grid; each once.
std::vector<Work> in_order(const std::vector<Work>& first, const std::vector<Work>& grid) {
  std::set<std::string> seen;
  std::vector<Work> works;
  const auto add = [&](const std::vector<Work>& more) {
    for (const Work& work : more) {
      if (seen.insert(work_text(work)).second) works.push_back(work);
    }
  };
  add(first);
  add(spread(grid));
  return works;
}

}  // namespace

SessionResult run_session(Backend& backend, Journal* journal, const SessionOptions& options,
                          const Clock& clock, const PointProgress& progress) {
  const double end = clock().value + options.budget.value;
  const std::vector<Work> works = in_order(options.first, backend.grid());
  SessionResult result;
  double slowest = 0.0;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Work& work = works[i];
    const double begin = clock().value;
    if (backend.agree(journal && journal->has(work))) {
      ++result.resumed;
    } else if (!backend.agree(begin + slowest < end)) {
      ++result.left;
    } else {
      const double share = (end - begin) / static_cast<double>(works.size() - i);
      try {
        const Run run = backend.prepare(work);
        SamplingRule rule = options.rule;
        rule.budget.value = share - (clock().value - begin);
        const auto samples =
            sample(run, rule, clock, [&](bool here) { return backend.agree(here); });
        check_samples(samples);
        const auto state = backend.state();
        add_clock(result, state);
        if (journal) journal->add(work, results_text(samples, backend.kernel(work), state));
        ++result.measured;
      } catch (const SkippedPoint& error) {
        if (journal) journal->add(work, ordered_json{{"skipped", error.what()}}.dump());
        ++result.skipped;
      }
      slowest = std::max(slowest, clock().value - begin);
    }
    progress(i + 1, works.size(), {std::max(0.0, end - clock().value)});
  }
  return result;
}

}  // namespace prequel
