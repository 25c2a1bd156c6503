#include "calibrate/measure/cuda_works.hpp"

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
    if (!pinned) {
      pageable_.assign(bytes, 1);
      return;
    }
    void* made{};
    check_cuda(cudaMallocHost(&made, bytes), "cudaMallocHost");
    pinned_.reset(made);
    std::memset(made, 1, bytes);
  }
  [[nodiscard]] void* data() { return pinned_ ? pinned_.get() : pageable_.data(); }

 private:
  Owned<void*, cudaFreeHost> pinned_;
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
    cudaGraph_t graph{};
    const cudaError_t ended = cudaStreamEndCapture(on, &graph);
    graph_.reset(graph);
    check_cuda(launched, "launch_empty_kernel");
    check_cuda(ended, "cudaStreamEndCapture");
    cudaGraphExec_t ready{};
    check_cuda(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
    ready_.reset(ready);
  }
  void launch(cudaStream_t on) { check_cuda(cudaGraphLaunch(ready_.get(), on), "cudaGraphLaunch"); }

 private:
  Owned<cudaGraph_t, cudaGraphDestroy> graph_;
  Owned<cudaGraphExec_t, cudaGraphExecDestroy> ready_;
};

Seconds since(const Patience& patience, Seconds start) {
  return {patience.now().value - start.value};
}

}  // namespace

Run prepare_cuda(const HostCopy& copy, cudaStream_t on, const Patience& patience) {
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

Run prepare_cuda(const KernelLaunch& launch, cudaStream_t on, const Patience& patience) {
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
