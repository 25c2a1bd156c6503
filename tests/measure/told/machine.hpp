#pragma once

/// A machine with a GPU that is not there: what stands behind the entry points of the drivers and
/// libraries that prequel-measure calls (told_runtime.cpp and its neighbours). Its time passes only
/// by what is asked of it: every call costs the host a little, and kernels and copies keep their
/// stream busy for as long as it was told that they take. It answers as a machine would: streams
/// run beside each other and in order, memory ends, an error of the device stays, and it notes
/// every misuse that a real one would answer by wrong results or a crash.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "calibrate/measure/sampling.hpp"
#include "calibrate/measure/work.hpp"

namespace prequel::told {

/// An error that the n-th call of a function returns, and the later ones, too, if it lasts.
struct Fault {
  int call{1};
  int status{};
  bool lasts{};
  bool sticky{};  ///< all functions of the runtime answer so from then on
};

/// The machine to play.
struct Orders {
  std::string name{"NVIDIA H100 80GB HBM3"};
  int capability{90};                                  ///< of an NVIDIA GPU, times ten
  std::string architecture{"gfx942:sramecc+:xnack-"};  ///< of an AMD GPU
  int devices{1};
  double memory{80e9};  ///< bytes
  int cache{50 << 20};  ///< bytes
  int units{132};

  /// Seconds that the device takes for a work: what was launched is told as the work that it does.
  std::function<double(const Work& work)> cost{[](const Work&) { return 1e-5; }};
  double noise{};  ///< sd of each kernel's time, relative; a normal distribution
  std::uint32_t seed{1};

  double call{2e-7};        ///< seconds that a call takes the host
  double launch{4e-6};      ///< and one that launches
  double graph_node{8e-7};  ///< seconds that an empty kernel of a graph takes the device
  double start{1.5e-6};     ///< from a launch to the kernel's begin on an idle device

  double clock_mhz{1980};
  /// The clock over its highest, by seconds that kernels ran; products take as much longer.
  std::function<double(double busy)> clock{[](double) { return 1.0; }};
  double timer{1.0};   ///< what events tell, over what is true
  bool sensors{true};  ///< there is a library that tells clocks

  std::map<std::string, Fault> faults;  ///< by function
  std::map<std::string, int> hangs;     ///< the n-th call of a function gives what never ends
  std::map<std::string, int> deaths;    ///< the n-th call of a function kills the process

  // Answers of cuDNN and NCCL.
  std::size_t workspace{1 << 20};
  int engines{2};            ///< that cuDNN's heuristics name
  int engines_that_fail{0};  ///< the first so many of them
  int async_error{};         ///< what NCCL's communicators have, once something hangs
};

struct Event;

struct Stream {
  double end{};  ///< when all that was put on it is done; infinite: never
  bool capturing{};
  int captured{};  ///< kernels
};

struct Event {
  double time{-1.0};  ///< when what was before it on its stream is done; < 0: not recorded
};

struct Graph {
  int nodes{};
};

class Machine {
 public:
  explicit Machine(Orders orders = {});

  [[nodiscard]] const Orders& orders() const { return orders_; }
  [[nodiscard]] Orders& orders() { return orders_; }

  /// Every entry point's beginning; 0, or what it must answer in place of doing anything.
  int enter(const std::string& function, bool runtime = false);
  [[nodiscard]] int calls(const std::string& function) const;

  /// Device memory: addresses that hold nothing. Null: there is no room.
  void* allocate(std::size_t bytes);
  bool release(void* memory);
  /// Notes a misuse unless the bytes lie in one piece of allocated memory.
  void check_memory(const std::string& who, const void* memory, std::size_t bytes);
  [[nodiscard]] std::size_t allocated() const { return allocated_; }

  /// Puts work on a stream that takes the device so many seconds, without noise and clock.
  void submit(Stream& stream, double seconds, const std::string& function);
  /// The same by what the device was told of it.
  void submit(Stream& stream, const Work& work, const std::string& function);
  void record(Event& event, const Stream& stream);
  /// Tests whether the moment is there; if it is not, time passes until it is.
  bool passes(double moment);
  /// Noise of two events, and what a broken timer makes of it.
  [[nodiscard]] double between(const Event& start, const Event& stop) const;

  /// The clock in MHz now.
  [[nodiscard]] double clock_mhz() const;
  [[nodiscard]] double now() const { return now_; }
  /// Looking at it takes 20 ns.
  [[nodiscard]] Clock clock();

  /// Something that a real machine would not have liked.
  void complain(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

  int device{};             ///< of this thread
  int last_error{};         ///< of the runtime, until it is asked for
  int alive{};              ///< streams, events, graphs, handles, descriptors that nobody destroyed
  std::vector<Work> works;  ///< that were launched, if `keeps_works`
  bool keeps_works{};

 private:
  Orders orders_;
  std::mt19937 random_;
  double now_{};
  double busy_{};  ///< seconds that kernels ran
  int stuck_{};    ///< the status of a sticky error
  std::size_t allocated_{};
  std::map<std::uintptr_t, std::size_t> memory_;  ///< size by address
  std::map<std::string, int> calls_;
  std::vector<std::string> complaints_;
};

/// The one that the entry points of this program answer for: C has no place for another.
Machine& machine();
/// A new one in its place, with these orders.
Machine& tell(Orders orders);

/// Orders as text, for a program that tests start: "capability=80 memory=1e9 noise=0.3
/// fault=cudaMalloc:7:oom hang=cudaMemsetAsync:3 die=cudaMalloc:9"; see machine.cpp. `status` gives
/// a status by its name. Throws std::runtime_error for a word that it does not know.
Orders orders_of(const std::string& text,
                 const std::function<int(const std::string& name)>& status);

/// The status of that name as the runtime, NCCL, cuBLASLt and cuDNN number it.
int status_of(const std::string& name);

}  // namespace prequel::told
