#include "calibrate/measure/rendezvous.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "calibrate/measure/backend.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr Seconds kPatience{120.0};
/// Torchrun's port where it is told no other.
constexpr int kUsualPort = 29500;

int whole(const Environment& environment, const char* name, int least, int most) {
  const char* text = environment(name);
  if (!text) throw InputError(fmt::format("{}: is not set, though the others are", name));
  const auto value = parse_number(text);
  if (!value || *value != std::floor(*value) || *value < least || *value > most) {
    throw InputError(fmt::format("{}: expected a whole number from {} to {}, got {}", name, least,
                                 most, in_quotes(text)));
  }
  return static_cast<int>(*value);
}

/// FNV-1a: equal on all machines.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

/// A key that a user sets and the numbers of the job that torchrun and Slurm give.
std::uint64_t secret_of(const Environment& environment) {
  std::string known;
  for (const char* name : {"PREQUEL_RENDEZVOUS_KEY", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"}) {
    const char* value = environment(name);
    known += value ? value : "";
    known += '\n';
  }
  return hash_of(known);
}

ProcessPlace named_place(const Environment& environment, const char* rank, const char* ranks,
                         const char* local_rank) {
  ProcessPlace place;
  place.ranks = whole(environment, ranks, 1, 1 << 20);
  place.rank = whole(environment, rank, 0, place.ranks - 1);
  place.local_rank = whole(environment, local_rank, 0, place.ranks - 1);
  place.secret = secret_of(environment);
  if (const char* address = environment("MASTER_ADDR")) place.address = address;
  place.port =
      environment("MASTER_PORT") ? whole(environment, "MASTER_PORT", 1, 65535) : kUsualPort;
  return place;
}

}  // namespace

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket + 1);
  if (end == std::string::npos) return list;
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

ProcessPlace place_from_environment(const Environment& environment) {
  if (environment("RANK") && environment("WORLD_SIZE")) {
    ProcessPlace place = named_place(environment, "RANK", "WORLD_SIZE", "LOCAL_RANK");
    if (place.address.empty() && place.ranks > 1) {
      throw InputError("MASTER_ADDR: is not set, though RANK and WORLD_SIZE are");
    }
    return place;
  }
  if (!environment("SLURM_PROCID")) return {};
  ProcessPlace place = named_place(environment, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
  const char* hosts = environment("SLURM_STEP_NODELIST");
  if (!hosts) hosts = environment("SLURM_JOB_NODELIST");
  if (place.address.empty() && hosts) place.address = first_host(hosts);
  if (place.address.empty() && place.ranks > 1) {
    throw InputError("SLURM_STEP_NODELIST: is not set, nor is MASTER_ADDR");
  }
  // Two jobs on one node should not meet each other.
  if (const char* job = environment("SLURM_JOB_ID"); job && !environment("MASTER_PORT")) {
    place.port = 20000 + static_cast<int>(hash_of(job) % 10000);
  }
  return place;
}

Seconds longest(Rendezvous& rendezvous, Seconds own) {
  Seconds result;
  for (const std::uint64_t bits : rendezvous.all_gather(std::bit_cast<std::uint64_t>(own.value))) {
    result = std::max(result, Seconds{std::bit_cast<double>(bits)});
  }
  return result;
}

std::vector<int> nodes_of(Rendezvous& rendezvous) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::vector<std::uint64_t> hosts = rendezvous.all_gather(hash_of(host.data()));
  std::vector<std::uint64_t> seen;
  std::vector<int> nodes;
  for (const std::uint64_t one : hosts) {
    const auto found = std::find(seen.begin(), seen.end(), one);
    nodes.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(one);
  }
  return nodes;
}

#ifndef PREQUEL_HAS_MPI
std::unique_ptr<Rendezvous> meet_by_mpi() {
  throw DeviceError(
      "mpirun started this process, but this prequel-measure was built without MPI; build it with "
      "MPI, or start it by torchrun or srun");
}
#endif

std::unique_ptr<Rendezvous> meet() {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  const bool by_torchrun = environment("RANK") && environment("WORLD_SIZE");
  const bool by_mpirun = environment("OMPI_COMM_WORLD_SIZE") || environment("PMI_SIZE") ||
                         environment("MPI_LOCALNRANKS");
  if (by_mpirun && !by_torchrun) return meet_by_mpi();
  return meet_by_tcp(place_from_environment(environment), kPatience);
}

}  // namespace prequel
