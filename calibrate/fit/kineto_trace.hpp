#pragma once

/// Reads traces of PyTorch's profiler (Kineto's JSON), as `torch.profiler` exports them.

#include <iosfwd>
#include <string>
#include <vector>

#include "calibrate/fit/measurement.hpp"

namespace prequel {

/// What all kernels, copies and fills of one kind took on the device, one after another.
struct KernelSum {
  std::string kind;
  Seconds time{};
  std::size_t count{};
};

/// Every event of the device is in one of the sums. Points are one of each shape: the median of its
/// times, of collectives the tenth percentile, since in training they wait for the slowest process.
struct KinetoTrace {
  std::vector<KernelSum> sums;  ///< the longest first
  MeasurementFile file;
};

/// Traces of PyTorch 1.8 on. What an operator worked on is known where `record_shapes` was on,
/// which way a product of a backward pass went by the strides that PyTorch 2.1 and later write, and
/// of collectives since 2.2. Throws InputError for what is no trace, or one that is cut off.
KinetoTrace read_kineto_trace(std::istream& in, const std::string& file);

}  // namespace prequel
