#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/fit/fit.hpp"

namespace prequel {
namespace {

/// Points of one kind, and how many a fit needs; 0: nothing is fitted to them.
struct Kind {
  std::string name;
  std::size_t needed{};
};

struct KindOf {
  Kind operator()(const Gemm&) const { return {}; }
  Kind operator()(const MeasuredKernels&) const { return {}; }
  Kind operator()(const MeasuredCollective&) const { return {}; }
  Kind operator()(const MeasuredDispatch& measured) const {
    return {measured.dispatch.combine ? "combine" : "dispatch"};
  }
  Kind operator()(const MeasuredStream& measured) const {
    return {std::string(name(measured.stream.kind)), kFewestStreams};
  }
  Kind operator()(const MeasuredAttention& measured) const {
    const FusedAttention& what = measured.attention;
    return {fmt::format("attention {} {} {}", measured.kernel, what.head_dim,
                        what.backward ? "backward" : "forward"),
            kFewestAttentions};
  }
  Kind operator()(const MeasuredCopy& copy) const {
    if (!copy.pinned) return {"copies of pageable memory"};
    return {"copies between host and device", kFewestCopies};
  }
  Kind operator()(const MeasuredBeside&) const { return {"gemm_beside_collective", kFewestBeside}; }
  Kind operator()(const MeasuredOther& other) const { return {other.op}; }
};

/// Tests whether a kind has a report: few points may move a rate alone.
bool has_report(const std::vector<FitReport>& fitted, const std::string& kind) {
  return std::ranges::any_of(fitted, [&](const FitReport& report) {
    return report.what == kind || "attention " + report.what == kind;
  });
}

}  // namespace

std::vector<std::string> not_fitted(const std::vector<Measurement>& points,
                                    const std::vector<FitReport>& fitted) {
  struct Count {
    std::size_t points{};
    std::size_t needed{};
  };
  std::map<std::string, Count> counts;
  for (const Measurement& point : points) {
    const Kind kind = std::visit(KindOf{}, point.what);
    if (kind.name.empty()) continue;
    Count& count = counts[kind.name];
    count = {count.points + 1, kind.needed};
  }
  std::vector<std::string> lines;
  for (const auto& [kind, count] : counts) {
    if (count.needed == 0) {
      lines.push_back(
          fmt::format("{}: {} points, for which there is no model", kind, count.points));
    } else if (count.points < count.needed && !has_report(fitted, kind)) {
      lines.push_back(fmt::format("{}: {} of {} points needed; as in the base file", kind,
                                  count.points, count.needed));
    }
  }
  return lines;
}

}  // namespace prequel
