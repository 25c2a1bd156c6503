#include "calibrate/measure/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"

namespace prequel {
namespace {

/// Where the device is on the bus.
std::string bus_of(int device) {
  std::array<char, 32> bus{};
  check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
             "cudaDeviceGetPCIBusId");
  return bus.data();
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties;
}

#ifdef __HIP_PLATFORM_AMD__
#ifdef PREQUEL_HAS_HIPBLASLT
constexpr bool kHasBlas = true;
#else
constexpr bool kHasBlas = false;
#endif
#elif defined PREQUEL_HAS_CUDNN
constexpr bool kHasCudnn = true;
#else
constexpr bool kHasCudnn = false;
#endif

}  // namespace

#ifdef __HIP_PLATFORM_AMD__
std::unique_ptr<GpuSensors> sensors_of(int device) {
  return std::make_unique<AmdSensors>("/sys/bus/pci/devices/" + bus_of(device));
}

GpuAbilities abilities_of(int device) {
  return amd_abilities(properties_of(device).gcnArchName, kHasBlas);
}
#else
std::unique_ptr<GpuSensors> sensors_of(int device) {
  return std::make_unique<Nvml>(bus_of(device));
}

GpuAbilities abilities_of(int device) {
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  return nvidia_abilities(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                              attribute(cudaDevAttrComputeCapabilityMinor),
                          kHasCudnn);
}
#endif

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

std::size_t cache_bytes_of(int device) {
  int l2 = 0;
  check_cuda(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  return std::max(static_cast<std::size_t>(l2), abilities_of(device).cache_bytes);
}

std::map<std::string, std::string> context_of(int device, const GpuSensors& sensors) {
  const cudaDeviceProp properties = properties_of(device);
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  auto context = host_context();
  context.merge(sensors.settings());
  context["backend"] = kGpuRuntime;
  context["device"] = properties.name;
#ifdef __HIP_PLATFORM_AMD__
  context["architecture"] = properties.gcnArchName;
#else
  context["compute_capability"] = fmt::format("{}.{}", properties.major, properties.minor);
#endif
  context["compute_units"] = fmt::format("{}", properties.multiProcessorCount);
  context["memory_bytes"] = fmt::format("{}", properties.totalGlobalMem);
  context["cache_bytes"] = fmt::format("{}", cache_bytes_of(device));
  context[fmt::format("{}_driver", kGpuRuntime)] = fmt::format("{}", driver);
  context[fmt::format("{}_runtime", kGpuRuntime)] = fmt::format("{}", runtime);
  return context;
}

}  // namespace prequel
