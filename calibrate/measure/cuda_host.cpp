#include "calibrate/measure/cuda_host.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

/// Launches between two looks at the clock: one alone is shorter than the clock's call.
constexpr int kLaunches = 200;

/// Host memory that the device may read while programs go on, or that it may not.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, bool pinned) {
    if (pinned) {
      check_cuda(cudaMallocHost(&pinned_, bytes), "cudaMallocHost");
      std::memset(pinned_, 1, bytes);
    } else {
      pageable_.assign(bytes, 1);
    }
  }
  ~HostBuffer() {
    if (pinned_) (void)cudaFreeHost(pinned_);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  [[nodiscard]] void* data() { return pinned_ ? pinned_ : pageable_.data(); }

 private:
  void* pinned_{};
  std::vector<unsigned char> pageable_;
};

/// Empty kernels as one graph.
class LaunchGraph {
 public:
  explicit LaunchGraph(cudaStream_t on) {
    check_cuda(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaError_t launched = cudaSuccess;
    for (int i = 0; i < kLaunches && launched == cudaSuccess; ++i) {
      launched = launch_empty_kernel(on);
    }
    const cudaError_t ended = cudaStreamEndCapture(on, &graph_);
    check_cuda(launched, "launch_empty_kernel");
    check_cuda(ended, "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&ready_, graph_, 0);
    if (made != cudaSuccess) (void)cudaGraphDestroy(graph_);
    check_cuda(made, "cudaGraphInstantiate");
  }
  ~LaunchGraph() {
    (void)cudaGraphExecDestroy(ready_);
    (void)cudaGraphDestroy(graph_);
  }
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  void launch(cudaStream_t on) { check_cuda(cudaGraphLaunch(ready_, on), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t ready_{};
};

Seconds since(const Patience& patience, Seconds start) {
  return {patience.now().value - start.value};
}

}  // namespace

Run prepare_cuda_copy(const HostCopy& copy, cudaStream_t on, const Patience& patience) {
  const auto bytes = static_cast<std::size_t>(copy.bytes.value);
  struct Sides {
    DeviceBuffer device;
    HostBuffer host;
    Sides(std::size_t size, bool pinned) : device(size), host(size, pinned) {}
  };
  std::shared_ptr<Sides> sides;
  try {
    sides = std::make_shared<Sides>(bytes, copy.pinned);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("out of host memory");
  }
  const Launch launch = [=, to_device = copy.to_device] {
    void* const device = sides->device.data();
    void* const host = sides->host.data();
    check_cuda(to_device ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, on)
                         : cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, on),
               "cudaMemcpyAsync");
  };
  return timed(launch, on, patience);
}

Run prepare_cuda_launch(const KernelLaunch& launch, cudaStream_t on, const Patience& patience) {
  if (launch.graph) {
    return [on, patience, graph = std::make_shared<LaunchGraph>(on)] {
      const Seconds start = patience.now();
      graph->launch(on);
      patience.await(on);
      return since(patience, start) / kLaunches;
    };
  }
  return [on, patience] {
    const Seconds start = patience.now();
    for (int i = 0; i < kLaunches; ++i) check_cuda(launch_empty_kernel(on), "launch_empty_kernel");
    const Seconds time = since(patience, start) / kLaunches;
    patience.await(on);
    return time;
  };
}

}  // namespace prequel
