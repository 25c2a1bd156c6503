#pragma once

/// Reads traces of PyTorch's profiler (Kineto's JSON), as `torch.profiler` exports them.

#include <iosfwd>
#include <string>
#include <vector>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

/// The time of all kernels, copies and fills of one kind on the device, one after another.
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

/// Reads traces of PyTorch 1.8 on. An operator's shapes are known where `record_shapes` was on, the
/// direction of a backward pass' product by the strides that PyTorch 2.1 and later write, and
/// collectives since 2.2. Throws InputError for a file that is no trace, or that is cut off.
KinetoTrace read_kineto_trace(std::istream& in, const std::string& file);

}  // namespace prequel
