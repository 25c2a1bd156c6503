#include "hw/price_explanation.hpp"

#include <algorithm>

namespace prequel {

const Limit& PriceExplanation::binding() const {
  return *std::ranges::max_element(limits, {}, &Limit::time);
}

PriceExplanation explain_price(const Device& device, const Stream& stream) {
  const StreamModel& model = device.streams[static_cast<std::size_t>(stream.kind)];
  const Bytes moved{stream.bytes.value + stream.rows * model.row_overhead_bytes};
  const Seconds launch{model.launch_s};
  // Without rows the equation is the launch and the transfer, one after the other.
  const Seconds transfer = price(device, Stream{stream.kind, moved}) - launch;
  const Seconds time = price(device, stream);
  return {"memory-bound kernel",
          "device.memory_bound." + std::string(name(stream.kind)),
          {},
          moved,
          {{"memory", transfer}, {"row by row", time - launch - transfer}, {"launch", launch}},
          time};
}

}  // namespace prequel
