#pragma once

/// The end of a measurement whose device hangs.

#include <string>

namespace prequel {

/// Says why on stderr and ends the process with `kExitDevice`, without a destructor: whatever frees
/// memory of a device that hangs waits for it. Points that were finished are on disk.
[[noreturn]] void end_hung(const std::string& why);

}  // namespace prequel
