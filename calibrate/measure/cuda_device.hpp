#pragma once

/// A GPU of this machine: what it is, what it can do, and how it fares.

#include <map>
#include <memory>
#include <string>

#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#ifdef __HIP_PLATFORM_AMD__
#include "calibrate/measure/amd_sensors.hpp"
#else
#include "calibrate/measure/nvml.hpp"
#endif

namespace prequel {

#ifdef __HIP_PLATFORM_AMD__
using GpuSensors = AmdSensors;
#else
using GpuSensors = Nvml;
#endif

std::unique_ptr<GpuSensors> sensors_of(int device);

/// The device of this thread.
int current_device();

GpuAbilities abilities_of(int device);

/// The size of the last cache before memory.
std::size_t cache_bytes_of(int device);

/// Returns versions and properties of the device, its driver and the runtime, beside what its
/// sensors and the host say.
std::map<std::string, std::string> context_of(int device, const GpuSensors& sensors);

}  // namespace prequel
