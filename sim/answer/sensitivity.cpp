#include "sim/answer/sensitivity.hpp"

#include <functional>

#include "sim/answer/prediction.hpp"

namespace prequel {
namespace {

void scale(HostStack& host, double more) {
  for (Seconds* time : {&host.blocking_launch_per_layer, &host.async_launch_per_layer,
                        &host.fixed_per_iteration, &host.update_per_layer}) {
    *time = *time / more;
  }
}

}  // namespace

std::vector<Sensitivity> sensitivity(const Scenario& scenario, double more) {
  const std::pair<const char*, std::function<void(Scenario&)>> resources[] = {
      {"matrix rate",
       [more](Scenario& s) {
         for (double& peak : s.device.peaks) peak *= more;
       }},
      {"memory bandwidth",
       [more](Scenario& s) { s.device.memory_rate = {s.device.memory_rate.value * more}; }},
      {"links inside a node",
       [more](Scenario& s) { s.cluster = with_device_links(std::move(s.cluster), more); }},
      {"network between nodes", [more](Scenario& s) { s.cluster.network.efficiency *= more; }},
      {"host speed", [more](Scenario& s) { scale(s.software.host, more); }},
  };
  std::vector<Sensitivity> result;
  for (const auto& [name, change] : resources) {
    Scenario changed = scenario;
    change(changed);
    result.push_back({name, predict(changed).sec_per_iter.value});
  }
  return result;
}

}  // namespace prequel
