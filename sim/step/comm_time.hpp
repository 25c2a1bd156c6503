#pragma once

/// Time of collectives and transfers of a plan's groups.

#include "hw/cluster.hpp"
#include "models/job/inputs.hpp"
#include "models/plan/groups.hpp"

namespace prequel {

/// Time of communication, and the part of it in which links between nodes carry what is sent.
struct CommTime {
  Seconds all{};
  Seconds network{};

  CommTime& operator+=(const CommTime& other) {
    all += other.all;
    network += other.network;
    return *this;
  }
  friend CommTime operator*(double times, const CommTime& time) {
    return {times * time.all, times * time.network};
  }
};

/// All of a collective's seconds, and those on the network.
CommTime comm_time(const CollectivePrice& price);

/// How ranks of a group lie on the cluster.
GroupShape shape_of_group(const Scenario& scenario, const RankGroup& group);
GroupShape shape_of_group(const Scenario& scenario, GroupAxis axis);

/// Returns the time of a collective on weights or gradients, within the stack's network limit.
CommTime data_collective_time(const Scenario& scenario, CollectiveOp op, const RankGroup& group,
                              Bytes bytes);

}  // namespace prequel
