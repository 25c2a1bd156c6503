#include <fmt/format.h>

#include <array>
#include <exception>
#include <map>
#include <new>
#include <vector>

#include "calibrate/measure/group_backend.hpp"
#include "calibrate/measure/mpi_check.hpp"

namespace prequel {
namespace {

int rank_in(MPI_Comm group) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(group, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm group) {
  int size = 0;
  check_mpi(MPI_Comm_size(group, &size), "MPI_Comm_size");
  return size;
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
      check_mpi(MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, group), "MPI_Allreduce");
      return;
    case CollectiveOp::all_gather:
      check_mpi(MPI_Allgather(send, part, MPI_FLOAT, receive, part, MPI_FLOAT, group),
                "MPI_Allgather");
      return;
    case CollectiveOp::reduce_scatter:
      check_mpi(MPI_Reduce_scatter_block(send, receive, part, MPI_FLOAT, MPI_SUM, group),
                "MPI_Reduce_scatter_block");
      return;
    case CollectiveOp::all_to_all:
      check_mpi(MPI_Alltoall(send, part, MPI_FLOAT, receive, part, MPI_FLOAT, group),
                "MPI_Alltoall");
      return;
    case CollectiveOp::broadcast:
      check_mpi(MPI_Bcast(send, count, MPI_FLOAT, 0, group), "MPI_Bcast");
      return;
    case CollectiveOp::send_recv: {
      const int rank = rank_in(group);
      check_mpi(MPI_Sendrecv(send, count, MPI_FLOAT, (rank + 1) % ranks, 0, receive, count,
                             MPI_FLOAT, (rank + ranks - 1) % ranks, 0, group, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
      return;
    }
  }
}

/// A null group: this process waits.
class MpiBackend final : public GroupBackend<MPI_Comm> {
 public:
  MpiBackend() : GroupBackend("mpi", meet_by_mpi()) {
    split_groups([this](int number) {
      MPI_Comm group = MPI_COMM_NULL;
      check_mpi(MPI_Comm_split(MPI_COMM_WORLD, number < 0 ? MPI_UNDEFINED : number,
                               meeting_->rank(), &group),
                "MPI_Comm_split");
      if (group != MPI_COMM_NULL) {
        check_mpi(MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      }
      return group;
    });
  }

  ~MpiBackend() override {
    if (std::uncaught_exceptions() > 0) return;  // the others may wait in a collective
    for (auto& [shape, group] : groups_) {
      if (group != MPI_COMM_NULL) MPI_Comm_free(&group);
    }
  }

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  [[nodiscard]] std::map<std::string, std::string> context() const override {
    auto context = host_context();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
    context["backend"] = "mpi";
    context["mpi"] = version.data();
    context["ranks"] = fmt::format("{}", meeting_->ranks());
    return context;
  }

  [[nodiscard]] std::vector<Work> grid() const override {
    if (meeting_->ranks() < 2) {
      throw DeviceError("mpi: one process has no collectives: run it by mpirun -n 2");
    }
    return collectives(67108864.0, sizeof(float));
  }

  /// The time is that of the slowest process.
  Run prepare(const Work& work) override {
    const auto* what = std::get_if<CollectiveWork>(&work);
    if (!what) throw SkippedPoint("mpi: measures collectives only");
    return [this, op = what->op, group = group_of(*what),
            buffers = all_or_none([&] { return room(*what); })]() mutable {
      check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
      const double start = MPI_Wtime();
      if (group != MPI_COMM_NULL) run_collective(op, group, buffers);
      return longest({MPI_Wtime() - start});
    };
  }

 private:
  static Buffers room(const CollectiveWork& what) {
    try {
      const auto count = static_cast<std::size_t>(what.bytes.value / sizeof(float));
      return {std::vector<float>(count, 1.25F), std::vector<float>(count)};
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("out of host memory on a process");
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend(const Clock& /*clock*/) {
  return std::make_unique<MpiBackend>();
}

}  // namespace prequel
