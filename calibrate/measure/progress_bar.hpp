#pragma once

#include "calibrate/measure/session.hpp"

namespace prequel {

/// A line on stderr that is drawn again after every point; nothing when stderr is no terminal.
PointProgress progress_bar();

}  // namespace prequel
