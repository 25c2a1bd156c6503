#include "sim/run/checkpointing.hpp"

#include <cmath>

#include "hw/base/portable_math.hpp"

namespace prequel {

Seconds young_interval(const FailureModel& failures) {
  return {std::sqrt(2.0 * failures.save.value * failures.mtbf.value)};
}

Seconds daly_interval(const FailureModel& failures) {
  const double save = failures.save.value;
  const double mtbf = failures.mtbf.value;
  if (save >= 2.0 * mtbf) return {mtbf};
  const double ratio = save / (2.0 * mtbf);
  return {std::sqrt(2.0 * save * mtbf) * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - save};
}

Seconds expected_time(Seconds work, Seconds interval, const FailureModel& failures) {
  const double mtbf = failures.mtbf.value;
  const double segment = mtbf * portable::exp(failures.restart.value / mtbf) *
                         portable::expm1((interval.value + failures.save.value) / mtbf);
  return {segment * work.value / interval.value};
}

}  // namespace prequel
