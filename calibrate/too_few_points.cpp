#include <fmt/format.h>

#include <map>

#include "calibrate/fit.hpp"

namespace prequel {
namespace {

struct Group {
  std::size_t points{};
  std::size_t needed{};
};

}  // namespace

std::vector<std::string> too_few_points(const std::vector<Measurement>& points) {
  std::map<std::string, Group> groups;
  for (const Measurement& point : points) {
    if (const auto* stream = std::get_if<MeasuredStream>(&point.what)) {
      Group& group = groups[std::string(name(stream->stream.kind))];
      group = {group.points + 1, kFewestStreams};
    } else if (const auto* measured = std::get_if<MeasuredAttention>(&point.what)) {
      const FusedAttention& what = measured->attention;
      Group& group = groups[fmt::format("attention {} {} {}", measured->kernel, what.head_dim,
                                        what.backward ? "backward" : "forward")];
      group = {group.points + 1, kFewestAttentions};
    }
  }
  std::vector<std::string> lines;
  for (const auto& [what, group] : groups) {
    if (group.points >= group.needed) continue;
    lines.push_back(fmt::format("{}: {} points, {} are needed", what, group.points, group.needed));
  }
  return lines;
}

}  // namespace prequel
