#include <exception>

#include "calibrate/measure/mpi_check.hpp"
#include "calibrate/measure/rendezvous.hpp"

namespace prequel {
namespace {

class MpiRendezvous final : public Rendezvous {
 public:
  MpiRendezvous() {
    check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
              "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "MPI_Comm_size");
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    check_mpi(MPI_Comm_rank(node, &local_rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  }

  ~MpiRendezvous() override {
    // After an error the others wait in a collective and would never finalize: leaving without it
    // makes mpirun end them.
    if (std::uncaught_exceptions() == 0 || ranks_ == 1) MPI_Finalize();
  }
  MpiRendezvous(const MpiRendezvous&) = delete;
  MpiRendezvous& operator=(const MpiRendezvous&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }

  void broadcast(void* data, std::size_t bytes) override {
    check_mpi(MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  }

  std::vector<std::uint64_t> all_gather(std::uint64_t own) override {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(ranks_));
    check_mpi(MPI_Allgather(&own, 1, MPI_UINT64_T, values.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
              "MPI_Allgather");
    return values;
  }

 private:
  int rank_{};
  int ranks_{};
  int local_rank_{};
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_mpi() {
  return std::make_unique<MpiRendezvous>();
}

}  // namespace prequel
