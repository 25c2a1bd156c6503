#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <exception>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/host_context.hpp"

namespace prequel {
namespace {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError(fmt::format("{}: {}", call, text.data()));
}

int rank_in(MPI_Comm group) {
  int rank = 0;
  check(MPI_Comm_rank(group, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm group) {
  int size = 0;
  check(MPI_Comm_size(group, &size), "MPI_Comm_size");
  return size;
}

/// Of processes that share memory, the first counts one node.
int nodes_of(MPI_Comm group) {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(group, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  const int first = rank_in(node) == 0 ? 1 : 0;
  int nodes = 0;
  check(MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, group), "MPI_Allreduce");
  check(MPI_Comm_free(&node), "MPI_Comm_free");
  return nodes;
}

struct Buffers {
  std::vector<float> send;
  std::vector<float> receive;
};

/// `bytes` as nccl-tests counts them: of the whole buffer, at its larger end.
void run_collective(CollectiveOp op, MPI_Comm group, Buffers& buffers) {
  const int ranks = size_of(group);
  const auto count = static_cast<int>(buffers.send.size());
  const int part = count / ranks;
  float* const send = buffers.send.data();
  float* const receive = buffers.receive.data();
  switch (op) {
    case CollectiveOp::all_reduce:
      check(MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, group), "MPI_Allreduce");
      return;
    case CollectiveOp::all_gather:
      check(MPI_Allgather(send, part, MPI_FLOAT, receive, part, MPI_FLOAT, group), "MPI_Allgather");
      return;
    case CollectiveOp::reduce_scatter:
      check(MPI_Reduce_scatter_block(send, receive, part, MPI_FLOAT, MPI_SUM, group),
            "MPI_Reduce_scatter_block");
      return;
    case CollectiveOp::all_to_all:
      check(MPI_Alltoall(send, part, MPI_FLOAT, receive, part, MPI_FLOAT, group), "MPI_Alltoall");
      return;
    case CollectiveOp::broadcast:
      check(MPI_Bcast(send, count, MPI_FLOAT, 0, group), "MPI_Bcast");
      return;
    case CollectiveOp::send_recv: {
      const int rank = rank_in(group);
      check(MPI_Sendrecv(send, count, MPI_FLOAT, (rank + 1) % ranks, 0, receive, count, MPI_FLOAT,
                         (rank + ranks - 1) % ranks, 0, group, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
      return;
    }
  }
}

/// Every process runs the same session; the first decides and writes.
class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    rank_ = rank_in(MPI_COMM_WORLD);
    ranks_ = size_of(MPI_COMM_WORLD);
    for (int size = 2; size <= ranks_; size *= 2) {
      if (ranks_ % size == 0) add_groups(size);
    }
    if (ranks_ > 1 && !groups_.contains(ranks_)) add_groups(ranks_);
  }

  ~MpiBackend() override {
    // After an error the others wait in a collective and would never finalize: leaving without it
    // makes mpirun end them.
    if (std::uncaught_exceptions() > 0 && ranks_ > 1) return;
    for (auto& [size, group] : groups_) MPI_Comm_free(&group.comm);
    MPI_Finalize();
  }

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  [[nodiscard]] std::map<std::string, std::string> context() const override {
    auto context = host_context();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    check(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
    context["backend"] = "mpi";
    context["mpi"] = version.data();
    context["ranks"] = fmt::format("{}", ranks_);
    return context;
  }

  /// Whole buffers from 1 KiB to 64 MiB, on groups of every power of two that divides the ranks.
  [[nodiscard]] std::vector<Work> grid() const override {
    if (ranks_ < 2) throw DeviceError("mpi: one process has no collectives: run it by mpirun -n 2");
    std::vector<Work> works;
    for (const auto& [size, group] : groups_) {
      for (const auto op :
           {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
            CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::send_recv}) {
        for (double bytes = 1024; bytes <= 67108864.0; bytes *= 2) {
          works.emplace_back(CollectiveWork{op, size, group.nodes, {bytes}});
        }
      }
    }
    return works;
  }

  /// Groups of this size run at once, as those of data parallelism do; the time is that of the
  /// slowest process.
  Run prepare(const Work& work) override {
    const auto* what = std::get_if<CollectiveWork>(&work);
    if (!what) throw DeviceError("mpi: cannot measure " + work_text(work));
    Buffers buffers;
    make(buffers, *what);
    const MPI_Comm group = groups_.at(what->ranks).comm;
    return [op = what->op, group, buffers = std::move(buffers)]() mutable {
      check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
      const double start = MPI_Wtime();
      run_collective(op, group, buffers);
      const double own = MPI_Wtime() - start;
      double slowest = 0.0;
      check(MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
      return Seconds{slowest};
    };
  }

  bool agree(bool here) override {
    int decision = here ? 1 : 0;
    check(MPI_Bcast(&decision, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return decision != 0;
  }

  [[nodiscard]] bool is_first() const override { return rank_ == 0; }

 private:
  struct Group {
    MPI_Comm comm{MPI_COMM_NULL};
    int nodes{1};
  };

  void add_groups(int size) {
    Group group;
    check(MPI_Comm_split(MPI_COMM_WORLD, rank_ / size, rank_, &group.comm), "MPI_Comm_split");
    check(MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    group.nodes = nodes_of(group.comm);
    // All must ask for the same works: the widest group names them.
    check(MPI_Allreduce(MPI_IN_PLACE, &group.nodes, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD),
          "MPI_Allreduce");
    groups_[size] = group;
  }

  /// Room for one is room for all, or none goes on.
  static void make(Buffers& buffers, const CollectiveWork& what) {
    int room = 1;
    try {
      const auto count = static_cast<std::size_t>(what.bytes.value / sizeof(float));
      buffers.send.assign(count, 1.25F);
      buffers.receive.assign(count, 0.0F);
    } catch (const std::bad_alloc&) {
      room = 0;
    }
    check(MPI_Allreduce(MPI_IN_PLACE, &room, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
    if (room == 0) throw OutOfMemory("out of host memory on a process");
  }

  int rank_{};
  int ranks_{};
  std::map<int, Group> groups_;
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend() {
  return std::make_unique<MpiBackend>();
}

}  // namespace prequel
