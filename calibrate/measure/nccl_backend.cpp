#include <fmt/format.h>
#ifdef __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_gemm.hpp"
#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/group_layout.hpp"
#include "calibrate/measure/rendezvous.hpp"

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

[[noreturn]] void skip(const char* why) {
  throw SkippedPoint(fmt::format("{}: {}", kName, why));
}

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

/// One process a GPU; every process runs the same session, the first decides and writes.
class NcclBackend final : public Backend {
 public:
  explicit NcclBackend(const Clock& clock) : patience_(clock, [this] { return trouble(); }) {
    check_cuda(cudaSetDevice(device_), "cudaSetDevice");
    sensors_ = sensors_of(device_);
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming), "cudaEventCreate");
    timer_.emplace(patience_);
    if (meeting_->ranks() < 2) {
      throw DeviceError(fmt::format(
          "{}: one process has no collectives: run one a GPU, by torchrun, srun or mpirun", kName));
    }
    ncclUniqueId id{};
    if (is_first()) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    meeting_->broadcast(&id, sizeof id);
    check(ncclCommInitRank(&world_, meeting_->ranks(), id, meeting_->rank()), "ncclCommInitRank");
    for (const GroupLayout& layout : group_layouts(nodes_of(*meeting_))) add_groups(layout);
  }

  ~NcclBackend() override {
    for (auto& [shape, group] : groups_) {
      if (group.comm) (void)ncclCommDestroy(group.comm);
    }
    if (world_) (void)ncclCommDestroy(world_);
    (void)cudaEventDestroy(begun_);
    (void)cudaStreamDestroy(beside_);
    (void)cudaStreamDestroy(stream_);
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
    std::vector<Work> works;
    for (const auto& [shape, group] : groups_) {
      for (const auto op :
           {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
            CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::send_recv}) {
        for (double bytes = 1024; bytes <= kLargest; bytes *= 2) {
          if (bytes / 2 < shape.ranks) continue;  // some would have no element
          works.emplace_back(CollectiveWork{op, shape.ranks, shape.nodes, {bytes}, shape.groups});
        }
      }
    }
    const auto everyone = std::prev(groups_.end())->first;  // the most ranks
    for (const Gemm& gemm : kProducts) {
      works.emplace_back(gemm);
      for (const auto op :
           {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
        works.emplace_back(GemmBeside{
            gemm, {op, everyone.ranks, everyone.nodes, {kBesideBytes}, everyone.groups}});
      }
    }
    return works;
  }

  /// The time is that of the slowest process.
  Run prepare(const Work& work) override {
    if (const auto* what = std::get_if<CollectiveWork>(&work)) return prepare_collective(*what);
    if (const auto* gemm = std::get_if<Gemm>(&work)) {
      return [this, run = timed(all_or_none([&] { return prepare_cuda_gemm(*gemm, stream_); }),
                                stream_, patience_)] { return longest(*meeting_, run()); };
    }
    if (const auto* both = std::get_if<GemmBeside>(&work)) return prepare_beside(*both);
    skip("measures collectives, and products beside them");
  }

  bool agree(bool here) override {
    meeting_->broadcast(&here, sizeof here);
    return here;
  }

  [[nodiscard]] bool is_first() const override { return meeting_->rank() == 0; }

 private:
  struct Shape {
    int ranks{};
    int nodes{};
    int groups{};
    auto operator<=>(const Shape&) const = default;
  };
  struct Group {
    ncclComm_t comm{};  ///< null: this process waits
    int rank{};
  };
  struct Buffers {
    DeviceBuffer send, receive;
  };

  [[nodiscard]] Group group_of(const CollectiveWork& what) const {
    const auto found = groups_.find({what.ranks, what.nodes, what.groups});
    if (found == groups_.end()) skip("these processes have no such group");
    return found->second;
  }

  Run prepare_collective(const CollectiveWork& what) {
    const Group group = group_of(what);
    auto buffers = room(static_cast<std::size_t>(what.bytes.value));
    const int calls = what.bytes.value <= kSmall ? kInRow : 1;
    return [this, what, group, buffers, calls] {
      longest(*meeting_, {});  // all begin together
      Seconds own;
      if (group.comm) {
        own = timer_->time(stream_, [&] {
          for (int i = 0; i < calls; ++i) {
            run_collective(what, group.comm, group.rank, buffers->send, buffers->receive, stream_);
          }
        });
      }
      return longest(*meeting_, own) / calls;
    };
  }

  /// A row of products that begins when the first of a row of collectives on another stream is
  /// done, and ends before the last of them: how many these are follows from the times of each
  /// alone, on which the processes agree, with as much again for what they lose to one another.
  Run prepare_beside(const GemmBeside& what) {
    const Group group = group_of(what.collective);
    const Run collective = prepare_collective(what.collective);
    const auto buffers = room(static_cast<std::size_t>(what.collective.bytes.value));
    const Launch product = all_or_none([&] { return prepare_cuda_gemm(what.gemm, stream_); });
    collective();  // warm
    const double alone = collective().value;
    const double own = longest(*meeting_, timed(product, stream_, patience_)()).value;
    const int products = std::clamp(static_cast<int>(kBesideSeconds / own), 1, kInRow);
    const int collectives = 2 + static_cast<int>(2.0 * products * own / alone);
    return [=, this, in = what.collective] {
      longest(*meeting_, {});  // all begin together
      Seconds row;
      if (group.comm) {
        for (int i = 0; i < collectives; ++i) {
          run_collective(in, group.comm, group.rank, buffers->send, buffers->receive, beside_);
          if (i == 0) check_cuda(cudaEventRecord(begun_, beside_), "cudaEventRecord");
        }
        check_cuda(cudaStreamWaitEvent(stream_, begun_, 0), "cudaStreamWaitEvent");
        row = timer_->time(stream_, [&] {
          for (int i = 0; i < products; ++i) product();
        });
        patience_.await(beside_);
      }
      return longest(*meeting_, row) / products;
    };
  }

  /// Returns what `make` makes, if it succeeds on all processes; else all throw.
  template <typename Make>
  auto all_or_none(const Make& make) -> decltype(make()) {
    decltype(make()) made;
    std::string missing;
    try {
      made = make();
    } catch (const SkippedPoint& error) {
      missing = error.what();
    }
    if (longest(*meeting_, {missing.empty() ? 0.0 : 1.0}).value > 0.0) {
      if (missing.empty()) skip("another process cannot");
      throw SkippedPoint(missing);
    }
    return made;
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

  void add_groups(const GroupLayout& layout) {
    const int number = layout.group_of[static_cast<std::size_t>(meeting_->rank())];
    Group group;
    check(ncclCommSplit(world_, number < 0 ? NCCL_SPLIT_NOCOLOR : number, meeting_->rank(),
                        &group.comm, nullptr),
          "ncclCommSplit");
    if (group.comm) check(ncclCommUserRank(group.comm, &group.rank), "ncclCommUserRank");
    groups_[{layout.ranks, layout.nodes, layout.groups}] = group;
  }

  std::shared_ptr<Buffers> room(std::size_t bytes) {
    return all_or_none([&] {
      auto buffers =
          std::shared_ptr<Buffers>(new Buffers{DeviceBuffer(bytes), DeviceBuffer(bytes)});
      check_cuda(fill_random(buffers->send.data(), bytes, RandomNumbers::bf16, stream_),
                 "fill_random");
      return buffers;
    });
  }

  // In this order: who has no device says so before others wait for it.
  int devices_{device_count()};
  std::unique_ptr<Rendezvous> meeting_{meet()};
  int device_{meeting_->local_rank() % devices_};
  Patience patience_;
  std::unique_ptr<GpuSensors> sensors_;
  cudaStream_t stream_{};
  cudaStream_t beside_{};  ///< of collectives beside products
  cudaEvent_t begun_{};
  ncclComm_t world_{};
  std::map<Shape, Group> groups_;
  std::optional<DeviceTimer> timer_;  ///< of the device that is set above
};

}  // namespace

std::unique_ptr<Backend> make_nccl_backend(const Clock& clock) {
  return std::make_unique<NcclBackend>(clock);
}

}  // namespace prequel
