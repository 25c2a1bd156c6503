#include <fmt/format.h>
#ifdef __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/cuda_works.hpp"
#include "calibrate/measure/group_backend.hpp"

extern char** environ;

namespace prequel {
namespace {

constexpr double kLargest = 1073741824.0;
/// Small messages are sent in rows, as training sends them: the host's launch is then hidden.
constexpr double kSmall = 1048576.0;
constexpr int kInRow = 20;

/// RCCL has NCCL's functions under NCCL's names.
#ifdef __HIP_PLATFORM_AMD__
constexpr const char* kName = "rccl";
#else
constexpr const char* kName = "nccl";
#endif

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  throw DeviceError(fmt::format("{}: {}: {}", kName, call, ncclGetErrorString(status)));
}

/// Products that are measured alone and beside collectives.
constexpr Gemm kProducts[] = {{2048, 4096, 4096}, {4096, 16384, 4096}, {8192, 8192, 8192}};
constexpr double kBesideBytes = 67108864.0;
/// A row of products beside collectives takes at least about so long.
constexpr double kBesideSeconds = 1e-3;

/// `bytes` as nccl-tests counts them, in bf16: of the whole buffer, at its larger end.
void run_collective(const CollectiveWork& what, ncclComm_t group, int rank,
                    const DeviceBuffer& send, const DeviceBuffer& receive, cudaStream_t on) {
  const auto count = static_cast<std::size_t>(what.bytes.value) / 2;
  const std::size_t part = count / static_cast<std::size_t>(what.ranks);
  constexpr ncclDataType_t kType = ncclBfloat16;
  switch (what.op) {
    case CollectiveOp::all_reduce:
      check(ncclAllReduce(send.data(), receive.data(), count, kType, ncclSum, group, on),
            "ncclAllReduce");
      return;
    case CollectiveOp::all_gather:
      check(ncclAllGather(send.data(), receive.data(), part, kType, group, on), "ncclAllGather");
      return;
    case CollectiveOp::reduce_scatter:
      check(ncclReduceScatter(send.data(), receive.data(), part, kType, ncclSum, group, on),
            "ncclReduceScatter");
      return;
    case CollectiveOp::broadcast:
      check(ncclBroadcast(send.data(), receive.data(), count, kType, 0, group, on),
            "ncclBroadcast");
      return;
    case CollectiveOp::all_to_all:
      check(ncclGroupStart(), "ncclGroupStart");
      for (int peer = 0; peer < what.ranks; ++peer) {
        const std::size_t offset = 2 * part * static_cast<std::size_t>(peer);
        check(ncclSend(static_cast<char*>(send.data()) + offset, part, kType, peer, group, on),
              "ncclSend");
        check(ncclRecv(static_cast<char*>(receive.data()) + offset, part, kType, peer, group, on),
              "ncclRecv");
      }
      check(ncclGroupEnd(), "ncclGroupEnd");
      return;
    case CollectiveOp::send_recv:
      check(ncclGroupStart(), "ncclGroupStart");
      check(ncclSend(send.data(), count, kType, (rank + 1) % what.ranks, group, on), "ncclSend");
      check(ncclRecv(receive.data(), count, kType, (rank + what.ranks - 1) % what.ranks, group, on),
            "ncclRecv");
      check(ncclGroupEnd(), "ncclGroupEnd");
      return;
  }
}

struct NcclGroup {
  ncclComm_t comm{};  ///< null: this process waits
  int rank{};
};

/// Who has no device says so before others wait for it.
std::unique_ptr<Rendezvous> meet_with_device() {
  (void)device_count();
  return meet();
}

/// One process a GPU.
class NcclBackend final : public GroupBackend<NcclGroup> {
 public:
  explicit NcclBackend(const Clock& clock)
      : GroupBackend(kName, meet_with_device()), patience_(clock, [this] { return trouble(); }) {
    check_cuda(cudaSetDevice(device_), "cudaSetDevice");
    sensors_ = sensors_of(device_);
    stream_ = make_stream();
    beside_ = make_stream();
    begun_ = make_event(cudaEventDisableTiming);
    timer_.emplace(patience_);
    if (meeting_->ranks() < 2) {
      throw DeviceError(fmt::format(
          "{}: one process has no collectives: run one a GPU, by torchrun, srun or mpirun", kName));
    }
    ncclUniqueId id{};
    if (is_first()) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    meeting_->broadcast(&id, sizeof id);
    check(ncclCommInitRank(&world_, meeting_->ranks(), id, meeting_->rank()), "ncclCommInitRank");
    split_groups([this](int number) {
      NcclGroup group;
      check(ncclCommSplit(world_, number < 0 ? NCCL_SPLIT_NOCOLOR : number, meeting_->rank(),
                          &group.comm, nullptr),
            "ncclCommSplit");
      if (group.comm) check(ncclCommUserRank(group.comm, &group.rank), "ncclCommUserRank");
      return group;
    });
  }

  ~NcclBackend() override {
    for (auto& [shape, group] : groups_) {
      if (group.comm) (void)ncclCommDestroy(group.comm);
    }
    if (world_) (void)ncclCommDestroy(world_);
  }
  NcclBackend(const NcclBackend&) = delete;
  NcclBackend& operator=(const NcclBackend&) = delete;

  [[nodiscard]] std::map<std::string, std::string> context() const override {
    int version = 0;
    check(ncclGetVersion(&version), "ncclGetVersion");
    auto context = context_of(device_, *sensors_);
    context["backend"] = kName;
    context[kName] = fmt::format("{}", version);
    context["ranks"] = fmt::format("{}", meeting_->ranks());
    for (char** entry = environ; *entry; ++entry) {
      const std::string_view text = *entry;
      const std::size_t end = text.find('=');
      if ((text.starts_with("NCCL_") || text.starts_with("RCCL_")) &&
          end != std::string_view::npos) {
        context[std::string(text.substr(0, end))] = text.substr(end + 1);
      }
    }
    return context;
  }

  [[nodiscard]] std::vector<Unproven> unproven() const override {
    return unproven_kernels(grid(), kName);
  }

  /// Returns the state of the first process' device.
  [[nodiscard]] std::map<std::string, double> state() const override { return sensors_->state(); }

  [[nodiscard]] std::vector<Work> grid() const override {
    std::vector<Work> works = collectives(kLargest, 2.0);
    for (const Gemm& gemm : kProducts) {
      works.emplace_back(gemm);
      for (const auto op :
           {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
        works.emplace_back(GemmBeside{gemm, of_everyone(op, kBesideBytes)});
      }
    }
    return works;
  }

  /// The time is that of the slowest process.
  Run prepare(const Work& work) override {
    if (const auto* what = std::get_if<CollectiveWork>(&work)) return prepare_collective(*what);
    if (const auto* gemm = std::get_if<Gemm>(&work)) {
      return [this, run = timed(all_or_none([&] { return prepare_cuda(*gemm, stream_.get()); }),
                                stream_.get(), patience_)] { return longest(run()); };
    }
    if (const auto* both = std::get_if<GemmBeside>(&work)) return prepare_beside(*both);
    skip("measures collectives, and products beside them");
  }

 private:
  struct Buffers {
    DeviceBuffer send, receive;
  };

  Run prepare_collective(const CollectiveWork& what) {
    const NcclGroup group = group_of(what);
    auto buffers = room(static_cast<std::size_t>(what.bytes.value));
    const int calls = what.bytes.value <= kSmall ? kInRow : 1;
    return [this, what, group, buffers, calls] {
      longest({});  // all begin together
      Seconds own;
      if (group.comm) {
        own = timer_->time(stream_.get(), [&] {
          for (int i = 0; i < calls; ++i) {
            run_collective(what, group.comm, group.rank, buffers->send, buffers->receive,
                           stream_.get());
          }
        });
      }
      return longest(own) / calls;
    };
  }

  /// A row of products that begins when the first of a row of collectives on another stream is
  /// done, and ends before the last of them: how many these are follows from the times of each
  /// alone, on which the processes agree, with as much again for what they lose to one another.
  Run prepare_beside(const GemmBeside& what) {
    const NcclGroup group = group_of(what.collective);
    const Run collective = prepare_collective(what.collective);
    const auto buffers = room(static_cast<std::size_t>(what.collective.bytes.value));
    const Launch product = all_or_none([&] { return prepare_cuda(what.gemm, stream_.get()); });
    collective();  // warm
    const double alone = collective().value;
    const double own = longest(timed(product, stream_.get(), patience_)()).value;
    const int products = std::clamp(static_cast<int>(kBesideSeconds / own), 1, kInRow);
    const int collectives = 2 + static_cast<int>(2.0 * products * own / alone);
    return [=, this, in = what.collective] {
      longest({});  // all begin together
      Seconds row;
      if (group.comm) {
        for (int i = 0; i < collectives; ++i) {
          run_collective(in, group.comm, group.rank, buffers->send, buffers->receive,
                         beside_.get());
          if (i == 0) check_cuda(cudaEventRecord(begun_.get(), beside_.get()), "cudaEventRecord");
        }
        check_cuda(cudaStreamWaitEvent(stream_.get(), begun_.get(), 0), "cudaStreamWaitEvent");
        row = timer_->time(stream_.get(), [&] {
          for (int i = 0; i < products; ++i) product();
        });
        patience_.await(beside_.get());
      }
      return longest(row) / products;
    };
  }

  /// Returns the problems of connections that the library found while collectives run: a process
  /// that died, a link that is down.
  [[nodiscard]] std::string trouble() const {
    for (const auto& [shape, group] : groups_) {
      ncclResult_t status = ncclSuccess;
      if (!group.comm || ncclCommGetAsyncError(group.comm, &status) != ncclSuccess) continue;
      if (status == ncclSuccess || status == ncclInProgress) continue;
      return fmt::format("{}: a collective ended in error: {}", kName, ncclGetErrorString(status));
    }
    return {};
  }

  std::shared_ptr<Buffers> room(std::size_t bytes) {
    return all_or_none([&] {
      auto buffers =
          std::shared_ptr<Buffers>(new Buffers{DeviceBuffer(bytes), DeviceBuffer(bytes)});
      check_cuda(fill_random(buffers->send.data(), bytes, RandomNumbers::bf16, stream_.get()),
                 "fill_random");
      return buffers;
    });
  }

  int device_{meeting_->local_rank() % device_count()};
  Patience patience_;
  std::unique_ptr<GpuSensors> sensors_;
  OwnedStream stream_;
  OwnedStream beside_;  ///< of collectives beside products
  OwnedEvent begun_;
  ncclComm_t world_{};
  std::optional<DeviceTimer> timer_;  ///< of the device that is set above
};

}  // namespace

std::unique_ptr<Backend> make_nccl_backend(const Clock& clock) {
  return std::make_unique<NcclBackend>(clock);
}

}  // namespace prequel
