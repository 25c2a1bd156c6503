#pragma once

/// The machine as a measurement file names it.

#include <map>
#include <string>

namespace prequel {

/// Host, processor, cores, clock and its governor, load, kernel and date. Facts that the machine
/// does not tell are left out.
std::map<std::string, std::string> host_context();

}  // namespace prequel
