#include "sim/run/energy.hpp"

namespace prequel {

double computing_share(const Prediction& prediction) {
  double sum = 0;
  for (const StagePrediction& stage : prediction.stages) {
    const Breakdown& time = stage.time;
    sum += (time.compute + time.recompute + time.tp_comm + time.optimizer) / time.total();
  }
  return sum / static_cast<double>(prediction.stages.size());
}

PlugPower plug_power(const Device& device, const Facility& facility) {
  PlugPower power = device.plug_power;
  if (power.busy <= 0) power.busy = facility.plug_over_board * device.power;
  if (power.waiting <= 0) power.waiting = facility.waiting_over_busy * power.busy;
  return power;
}

NodePower node_power(const PlugPower& power, std::int64_t devices, double computing_share) {
  const double busy = real(devices) * power.busy;
  const double waiting = real(devices) * power.waiting;
  return {waiting + (busy - waiting) * computing_share, waiting};
}

}  // namespace prequel
