#pragma once

/// How often to save a training, and what saving and failures cost. Failures come at random with a
/// constant rate; after one, work is taken up again from the last checkpoint. Training stands still
/// while it saves.

#include "hw/base/units.hpp"

namespace prequel {

/// The causes of a training's lost time.
struct FailureModel {
  Seconds mtbf;     ///< mean time between failures of the whole job, above 0
  Seconds save;     ///< writing a checkpoint, above 0
  Seconds restart;  ///< from a failure until training goes on
};

/// Work between two checkpoints that loses the least, to first order: sqrt(2·save·mtbf).
/// J. W. Young, Communications of the ACM 17(9), 1974.
Seconds young_interval(const FailureModel& failures);

/// The same to a higher order; once saving takes twice the mtbf or longer, the mtbf. J. T. Daly,
/// Future Generation Computer Systems 22(3), 2006, eq. 37.
Seconds daly_interval(const FailureModel& failures);

/// Expected seconds until `work` is done with a checkpoint after each `interval` of it: Daly 2006,
/// eq. 20, M·e^(R/M)·(e^((τ+δ)/M) − 1)·T/τ.
Seconds expected_time(Seconds work, Seconds interval, const FailureModel& failures);

}  // namespace prequel
