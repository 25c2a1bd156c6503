#include "hw/terms/price_explanation.hpp"

#include <algorithm>

namespace prequel {

const Limit& PriceExplanation::binding() const {
  return *std::ranges::max_element(limits, {}, &Limit::time);
}

}  // namespace prequel
