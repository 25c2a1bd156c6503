#include <fmt/format.h>

#include "cli/predict/prediction_format.hpp"
#include "cli/text/table.hpp"

namespace prequel {

std::string shares_text(const StageShares& shares, const Terminal& terminal) {
  TextTable table({"stage", "computing", "bubble", "exposed comm", "host", "critical path"});
  const auto percent = [&](double seconds) {
    return fmt::format("{:.1f} %", 100 * seconds / shares.seconds);
  };
  // Stages in the middle that are alike are told once.
  const auto row = [&](std::size_t i) {
    const StageShare& stage = shares.stages[i];
    return std::vector<std::string>{percent(stage.computing_s), percent(stage.bubble_s),
                                    percent(stage.communicating_s), percent(stage.host_s),
                                    percent(stage.critical_s)};
  };
  for (std::size_t i = 0; i < shares.stages.size();) {
    std::size_t last = i;
    while (last + 1 < shares.stages.size() && row(last + 1) == row(i)) ++last;
    std::vector<std::string> cells = row(i);
    cells.insert(cells.begin(), last > i ? fmt::format("{}-{}", i, last) : fmt::format("{}", i));
    table.add(std::move(cells));
    i = last + 1;
  }
  return "Shares of the iteration, by pipeline stage\n" + table.text(terminal.width);
}

}  // namespace prequel
