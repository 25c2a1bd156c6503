#pragma once

/// How the processes of one measurement find each other, and what they tell each other beside what
/// is measured.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/base/units.hpp"

namespace prequel {

/// One process of several.
struct ProcessPlace {
  int rank{};
  int ranks{1};
  int local_rank{};     ///< among those of its node: its GPU
  std::string address;  ///< of the first process
  int port{};
  /// Number that the processes of one job know and strangers do not; equal in all of them.
  std::uint64_t secret{};
};

/// The value of an environment variable; null: not set.
using Environment = std::function<const char*(const char* name)>;

/// From torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), else from
/// Slurm's (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID; the first host of the step, and a port made
/// of the job's number, where the master's variables are missing). The secret is made of
/// PREQUEL_RENDEZVOUS_KEY and of the job's number. Throws InputError for a value that cannot be;
/// one process where no variable is set.
ProcessPlace place_from_environment(const Environment& environment);

/// The first name of a host list such as "gpu[003-005,9],login".
std::string first_host(const std::string& list);

class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int local_rank() const = 0;
  /// Fills `data` with what the first process has in it. Throws DeviceError when one is gone.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  /// Returns the numbers of all processes, by rank. Throws DeviceError when one is gone.
  virtual std::vector<std::uint64_t> all_gather(std::uint64_t own) = 0;
};

/// The longest of all processes' times; returns when all have called it.
Seconds longest(Rendezvous& rendezvous, Seconds own);

/// The node of every process, numbered in the order of its first process.
std::vector<int> nodes_of(Rendezvous& rendezvous);

/// Over TCP: the first process listens, the others connect and try again until `patience` is over.
/// Throws DeviceError, which names the address.
std::unique_ptr<Rendezvous> meet_by_tcp(const ProcessPlace& place, Seconds patience);

/// By MPI's own means; throws DeviceError where this program was built without it.
std::unique_ptr<Rendezvous> meet_by_mpi();

/// By the variables of torchrun, else by MPI where mpirun started this process, else by Slurm's.
std::unique_ptr<Rendezvous> meet();

}  // namespace prequel
