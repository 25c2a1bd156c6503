#include "tests/measure/told/machine.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace prequel::told {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kAlignment = 256;

/// Where addresses of the device are: no memory of this process is there.
std::uintptr_t first_address() {
  constexpr std::size_t kRoom = std::size_t{1} << 44;
  void* const room =
      mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Where a limit forbids so much, addresses that no process has.
  return room == MAP_FAILED ? std::uintptr_t{1} << 46 : reinterpret_cast<std::uintptr_t>(room);
}

bool runs_at_clock(const Work& work) {
  return std::holds_alternative<Gemm>(work) || std::holds_alternative<FusedAttention>(work);
}

}  // namespace

Machine::Machine(Orders orders) : orders_(std::move(orders)), random_(orders_.seed) {}

int Machine::enter(const std::string& function, bool runtime) {
  now_ += orders_.call;
  const int call = ++calls_[function];
  const auto death = orders_.deaths.find(function);
  if (death != orders_.deaths.end() && call == death->second) std::raise(SIGKILL);
  if (runtime && stuck_ != 0) return last_error = stuck_;
  const auto fault = orders_.faults.find(function);
  if (fault == orders_.faults.end()) return 0;
  const Fault& what = fault->second;
  if (call != what.call && !(what.lasts && call > what.call)) return 0;
  if (what.sticky) stuck_ = what.status;
  if (runtime) last_error = what.status;
  return what.status;
}

int Machine::calls(const std::string& function) const {
  const auto found = calls_.find(function);
  return found == calls_.end() ? 0 : found->second;
}

void* Machine::allocate(std::size_t bytes) {
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (static_cast<double>(allocated_ + size) > orders_.memory) return nullptr;
  static const std::uintptr_t first = first_address();
  std::uintptr_t place = first;  // the first gap that is wide enough
  for (const auto& [address, taken] : memory_) {
    if (address - place >= size + kAlignment) break;
    place = (address + taken + 2 * kAlignment - 1) / kAlignment * kAlignment;
  }
  memory_[place] = bytes;
  allocated_ += size;
  return reinterpret_cast<void*>(place);
}

bool Machine::release(void* memory) {
  const auto found = memory_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == memory_.end()) {
    complain("memory is freed that nobody allocated");
    return false;
  }
  allocated_ -= (found->second + kAlignment - 1) / kAlignment * kAlignment;
  memory_.erase(found);
  return true;
}

void Machine::check_memory(const std::string& who, const void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto after = memory_.upper_bound(address);
  if (after != memory_.begin()) {
    const auto& [begin, size] = *std::prev(after);
    if (address + bytes <= begin + size) return;
  }
  complain(fmt::format("{}: {} bytes that lie in no piece of allocated memory", who, bytes));
}

void Machine::submit(Stream& stream, double seconds, const std::string& function) {
  if (stream.capturing) {
    ++stream.captured;
    return;
  }
  now_ += orders_.launch;
  const auto hang = orders_.hangs.find(function);
  const bool hangs = hang != orders_.hangs.end() && calls(function) >= hang->second;
  stream.end = hangs ? kNever : std::max(stream.end, now_ + orders_.start) + seconds;
}

void Machine::submit(Stream& stream, const Work& work, const std::string& function) {
  if (keeps_works) works.push_back(work);
  double seconds = orders_.cost(work);
  if (orders_.noise > 0.0) {
    // No kernel takes less than a tenth: the median and the mean are what was told.
    seconds *= std::clamp(std::normal_distribution<double>(1.0, orders_.noise)(random_), 0.1, 1.9);
  }
  if (runs_at_clock(work)) seconds /= orders_.clock(busy_);
  busy_ += seconds;
  submit(stream, seconds, function);
}

void Machine::record(Event& event, const Stream& stream) {
  event.time = std::max(stream.end, now_);
}

bool Machine::passes(double moment) {
  if (moment <= now_) return true;
  now_ = std::isinf(moment) ? now_ + 1.0 : moment;
  return false;
}

double Machine::between(const Event& start, const Event& stop) const {
  return (stop.time - start.time) * orders_.timer;
}

double Machine::clock_mhz() const {
  return orders_.clock_mhz * orders_.clock(busy_);
}

Clock Machine::clock() {
  return [this] {
    now_ += 2e-8;
    return Seconds{now_};
  };
}

void Machine::complain(const std::string& what) {
  if (complaints_.size() < 20) complaints_.push_back(what);
}

namespace {

std::unique_ptr<Machine>& place() {
  static std::unique_ptr<Machine> only = std::make_unique<Machine>();
  return only;
}

}  // namespace

Machine& machine() {
  return *place();
}

Machine& tell(Orders orders) {
  place() = std::make_unique<Machine>(std::move(orders));
  return machine();
}

Orders orders_of(const std::string& text,
                 const std::function<int(const std::string& name)>& status) {
  Orders orders;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const std::size_t end = word.find('=');
    const std::string key = word.substr(0, end);
    const std::string value = end == std::string::npos ? "" : word.substr(end + 1);
    // FUNCTION:CALL[:STATUS[:lasts|sticky]]
    std::istringstream parts(value);
    std::string function, call, code, how;
    std::getline(parts, function, ':');
    std::getline(parts, call, ':');
    std::getline(parts, code, ':');
    std::getline(parts, how, ':');
    if (key == "capability") {
      orders.capability = std::stoi(value);
    } else if (key == "devices") {
      orders.devices = std::stoi(value);
    } else if (key == "memory") {
      orders.memory = std::stod(value);
    } else if (key == "noise") {
      orders.noise = std::stod(value);
    } else if (key == "timer") {
      orders.timer = std::stod(value);
    } else if (key == "sensors") {
      orders.sensors = value == "1";
    } else if (key == "engines_that_fail") {
      orders.engines_that_fail = std::stoi(value);
    } else if (key == "async") {
      orders.async_error = status(value);
    } else if (key == "clock_falls_to") {
      orders.clock = [least = std::stod(value)](double busy) {
        return least + (1.0 - least) * std::exp(-busy / 0.5);
      };
    } else if (key == "fault") {
      orders.faults[function] = {std::stoi(call), status(code), how == "lasts", how == "sticky"};
    } else if (key == "hang") {
      orders.hangs[function] = std::stoi(call);
    } else if (key == "die") {
      orders.deaths[function] = std::stoi(call);
    } else {
      throw std::runtime_error("orders: " + word);
    }
  }
  return orders;
}

}  // namespace prequel::told
