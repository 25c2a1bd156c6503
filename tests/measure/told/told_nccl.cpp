/// NCCL, or RCCL, by the told machine. Processes of this machine find each other by a file that the
/// first one's identity names; collectives take what was told of their size, and no bytes move.

#ifdef __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "calibrate/measure/cuda_or_hip.hpp"
#include "tests/measure/told/machine.hpp"

using prequel::CollectiveOp;
using prequel::told::machine;

namespace {

#define PREQUEL_ENTER(function)                       \
  if (const int status = machine().enter(function)) { \
    return static_cast<ncclResult_t>(status);         \
  }

constexpr int kMostRanks = 16;
constexpr int kMostSplits = 64;

/// The state that all processes see: whether each has come, and its colour in each split (1 more;
/// 0: not yet).
struct Board {
  std::array<std::array<std::atomic<int>, kMostRanks>, kMostSplits> colours;
};

}  // namespace

struct ncclComm {
  Board* board{};
  int rank{};
  int ranks{};
  int nodes{1};
  int groups{1};
  int splits{};
  int world_rank{};
};

namespace {

/// The call of a group that is open: sends and receives count as one.
struct OpenGroup {
  bool open{};
  std::size_t bytes{};  ///< that this process sends
  ncclComm_t comm{};
  cudaStream_t stream{};
  int sends{};
};

OpenGroup& open_group() {
  static OpenGroup group;
  return group;
}

/// Waits until all have written; a process that dies would be waited for, so not for ever.
bool all_have_come(ncclComm_t comm, int split) {
  for (int tries = 0; tries < 30000; ++tries) {
    int missing = 0;
    for (int rank = 0; rank < comm->ranks; ++rank) {
      missing +=
          comm->board->colours[static_cast<std::size_t>(split)][static_cast<std::size_t>(rank)] == 0
              ? 1
              : 0;
    }
    if (missing == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

ncclResult_t run(CollectiveOp op, const void* send, std::size_t sent, const void* receive,
                 std::size_t received, double bytes, ncclComm_t comm, cudaStream_t stream,
                 const char* function) {
  machine().check_memory(function, send, sent);
  machine().check_memory(function, receive, received);
  machine().submit(*reinterpret_cast<prequel::told::Stream*>(stream),
                   prequel::CollectiveWork{op, comm->ranks, comm->nodes, {bytes}, comm->groups},
                   function);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t error) {
  switch (error) {
    case ncclSystemError: return "unhandled system error";
    case ncclRemoteError: return "a remote process has ended, or the network failed";
    default: return "some error";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  PREQUEL_ENTER("ncclGetUniqueId")
  const char* const folder = std::getenv("TMPDIR");
  std::snprintf(id->internal, sizeof id->internal, "%s/prequel_told_XXXXXX",
                folder ? folder : "/tmp");
  const int file = mkstemp(id->internal);
  if (file < 0 || ftruncate(file, sizeof(Board)) != 0) return ncclSystemError;
  close(file);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  PREQUEL_ENTER("ncclCommInitRank")
  if (ranks > kMostRanks) return ncclInternalError;
  const int file = open(id.internal, O_RDWR);
  if (file < 0) return ncclSystemError;
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  *comm = new ncclComm{static_cast<Board*>(memory), rank, ranks, 1, 1, 1, rank};
  ++machine().alive;
  (*comm)->board->colours[0][static_cast<std::size_t>(rank)] = 1;
  const bool all = all_have_come(*comm, 0);
  if (rank == 0) unlink(id.internal);
  return all ? ncclSuccess : ncclRemoteError;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int, ncclComm_t* made, ncclConfig_t*) {
  PREQUEL_ENTER("ncclCommSplit")
  *made = nullptr;
  const int split = comm->splits++;
  auto& colours = comm->board->colours[static_cast<std::size_t>(split)];
  colours[static_cast<std::size_t>(comm->rank)] = colour + 2;
  if (!all_have_come(comm, split)) return ncclRemoteError;
  if (colour == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  auto* const group = new ncclComm{comm->board, 0, 0, 1, 0, 0, comm->rank};
  int most = 0;
  for (int rank = 0; rank < comm->ranks; ++rank) {
    const int other = colours[static_cast<std::size_t>(rank)] - 2;
    most = std::max(most, other);
    if (other != colour) continue;
    group->rank += rank < comm->rank ? 1 : 0;
    ++group->ranks;
  }
  group->groups = most + 1;
  *made = group;
  ++machine().alive;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  --machine().alive;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = static_cast<ncclResult_t>(machine().orders().async_error);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  PREQUEL_ENTER("ncclAllReduce")
  return run(CollectiveOp::all_reduce, send, 2 * count, receive, 2 * count,
             2.0 * static_cast<double>(count), comm, stream, "ncclAllReduce");
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t, int,
                           ncclComm_t comm, cudaStream_t stream) {
  PREQUEL_ENTER("ncclBroadcast")
  return run(CollectiveOp::broadcast, send, 2 * count, receive, 2 * count,
             2.0 * static_cast<double>(count), comm, stream, "ncclBroadcast");
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t,
                           ncclComm_t comm, cudaStream_t stream) {
  PREQUEL_ENTER("ncclAllGather")
  const std::size_t whole = 2 * count * static_cast<std::size_t>(comm->ranks);
  return run(CollectiveOp::all_gather, send, 2 * count, receive, whole, static_cast<double>(whole),
             comm, stream, "ncclAllGather");
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  PREQUEL_ENTER("ncclReduceScatter")
  const std::size_t whole = 2 * count * static_cast<std::size_t>(comm->ranks);
  return run(CollectiveOp::reduce_scatter, send, whole, receive, 2 * count,
             static_cast<double>(whole), comm, stream, "ncclReduceScatter");
}

ncclResult_t ncclGroupStart() {
  PREQUEL_ENTER("ncclGroupStart")
  open_group() = OpenGroup{};
  open_group().open = true;
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* memory, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  PREQUEL_ENTER("ncclSend")
  if (!open_group().open) machine().complain("ncclSend outside a group waits for its receiver");
  if (peer < 0 || peer >= comm->ranks) machine().complain("ncclSend: no such rank");
  machine().check_memory("ncclSend", memory, 2 * count);
  OpenGroup& group = open_group();
  group.bytes += 2 * count;
  group.comm = comm;
  group.stream = stream;
  ++group.sends;
  return ncclSuccess;
}

ncclResult_t ncclRecv(void* memory, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t) {
  PREQUEL_ENTER("ncclRecv")
  if (peer < 0 || peer >= comm->ranks) machine().complain("ncclRecv: no such rank");
  machine().check_memory("ncclRecv", memory, 2 * count);
  return ncclSuccess;
}

/// As many sends as ranks are an all-to-all, one is a pipeline's message.
ncclResult_t ncclGroupEnd() {
  PREQUEL_ENTER("ncclGroupEnd")
  OpenGroup& group = open_group();
  group.open = false;
  if (group.sends == 0) return ncclSuccess;
  const bool everyone = group.sends > 1 && group.sends == group.comm->ranks;
  machine().submit(
      *reinterpret_cast<prequel::told::Stream*>(group.stream),
      prequel::CollectiveWork{everyone ? CollectiveOp::all_to_all : CollectiveOp::send_recv,
                              group.comm->ranks,
                              group.comm->nodes,
                              {static_cast<double>(group.bytes)},
                              group.comm->groups},
      "ncclGroupEnd");
  return ncclSuccess;
}
