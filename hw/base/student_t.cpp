#include "hw/base/student_t.hpp"

#include <cmath>

#include "hw/base/portable_math.hpp"

namespace prequel {

double log_t4(double z) {
  return portable::log(0.375) - 2.5 * portable::log1p(0.25 * z * z);
}

double t4_below(double z) {
  const double sine = z / std::sqrt(4.0 + z * z);
  return 0.5 + 0.75 * (sine - sine * sine * sine / 3.0);
}

double t4_quantile(double share) {
  const double root = 2.0 * std::sqrt(share * (1.0 - share));
  const double inner = portable::cos(portable::acos(root) / 3.0) / root;
  return std::copysign(2.0 * std::sqrt(std::fmax(0.0, inner - 1.0)), share - 0.5);
}

double t4_half_width(double level) {
  return t4_quantile(0.5 + 0.5 * level);
}

}  // namespace prequel
