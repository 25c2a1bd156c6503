#include "sim/run/checkpoint_times.hpp"

#include <algorithm>

namespace prequel {

SavingTimes saving_times(const SavingJob& job, const Storage& storage, Saving saving) {
  double write = job.write.value;
  if (write <= 0) {
    write = real(job.nodes) * storage.node_write;
    if (storage.total_write > 0) write = std::min(write, storage.total_write);
  }
  SavingTimes times;
  times.load = job.size.value / (write * storage.read_factor);
  if (saving == Saving::sync) {
    times.stall = job.size.value / write + storage.sync_overhead;
    return times;
  }
  const double copy =
      real(job.devices) * std::min(storage.copy_share * job.host_link.value, storage.copy_limit);
  times.stall = job.size.value / copy + storage.async_overhead;
  times.write = job.size.value / write;
  return times;
}

}  // namespace prequel
