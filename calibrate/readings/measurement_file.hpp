#pragma once

/// Reads files of measured kernels and collectives, whatever wrote them.

#include <string>
#include <vector>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

/// Reads a CSV table (data README of the columns: `m,n,k,dtype,…,time_us`,
/// `op,ranks,nodes,bytes,time_us`, …), a measurement file (JSON Lines, schema
/// prequel/measurement/1), or a log of nccl-tests (text or JSON); which one is seen from the
/// content. Throws InputError when the file cannot be read or holds no sound point.
MeasurementFile read_measurements(const std::string& path);

/// The same of several files, one after another.
MeasurementFile read_measurements(const std::vector<std::string>& paths);

}  // namespace prequel
