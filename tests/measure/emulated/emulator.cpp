#include "tests/measure/emulated/emulator.hpp"

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace prequel::emulated {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStack = 64 << 10;

enum class At { running, barrier, exchange, end };

/// One thread of the block: a stack of its own, on which it waits.
struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(kStack);
  At at{At::running};
  unsigned exchanges{};
};

struct Block {
  Place place;
  ucontext_t scheduler{};
  std::vector<std::unique_ptr<Fiber>> fibers;
  unsigned current{};
  const std::function<void()>* body{};
  /// Values that lanes give; by turns, so that nobody overwrites what another has not read.
  std::vector<std::array<float, 2>> given;
};

Block& block() {
  static Block only;
  return only;
}

Watcher& watcher() {
  static Watcher only;
  return only;
}

void wait_at(At at) {
  Fiber& fiber = *block().fibers[block().current];
  fiber.at = at;
  swapcontext(&fiber.context, &block().scheduler);
}

void run_fiber() {
  (*block().body)();
  wait_at(At::end);
}

void resume(unsigned thread) {
  Block& one = block();
  one.current = thread;
  one.place.thread.x = thread;
  one.fibers[thread]->at = At::running;
  swapcontext(&one.scheduler, &one.fibers[thread]->context);
}

/// Lets warps go on whose lanes have all given, or all threads where all are at the barrier.
bool release(unsigned threads) {
  Block& one = block();
  std::vector<unsigned> ready;
  unsigned at_barrier = 0;
  unsigned ended = 0;
  for (unsigned warp = 0; warp < threads; warp += kLanes) {
    std::array<unsigned, 4> counts{};
    const unsigned lanes = std::min(kLanes, threads - warp);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      ++counts.at(static_cast<std::size_t>(one.fibers[warp + lane]->at));
    }
    const unsigned giving = counts[static_cast<std::size_t>(At::exchange)];
    if (giving != 0 && giving != lanes) {
      throw std::runtime_error("lanes of a warp exchange while others are elsewhere");
    }
    for (unsigned lane = 0; giving != 0 && lane < lanes; ++lane) ready.push_back(warp + lane);
    at_barrier += counts[static_cast<std::size_t>(At::barrier)];
    ended += counts[static_cast<std::size_t>(At::end)];
  }
  if (ended == threads) return false;
  if (ready.empty()) {
    if (at_barrier + ended != threads || ended != 0) {
      throw std::runtime_error("threads wait at a barrier that others have left");
    }
    for (unsigned thread = 0; thread < threads; ++thread) ready.push_back(thread);
  }
  for (const unsigned thread : ready) resume(thread);
  return true;
}

void run_block(unsigned number, unsigned threads) {
  Block& one = block();
  one.place.block.x = number;
  while (one.fibers.size() < threads) one.fibers.push_back(std::make_unique<Fiber>());
  for (unsigned thread = 0; thread < threads; ++thread) {
    Fiber& fiber = *one.fibers[thread];
    fiber.exchanges = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &one.scheduler;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (unsigned thread = 0; thread < threads; ++thread) resume(thread);
  while (release(threads)) {
  }
}

}  // namespace

const Place& here() {
  return block().place;
}

void barrier() {
  wait_at(At::barrier);
}

float exchanged(float value, const std::function<unsigned(unsigned lane)>& from) {
  Block& one = block();
  const unsigned thread = one.current;
  const unsigned turn = one.fibers[thread]->exchanges++ % 2;
  one.given[thread][turn] = value;
  wait_at(At::exchange);
  const unsigned lane = thread % kLanes;
  const unsigned other = from(lane);
  return one.given[other < kLanes ? thread - lane + other : thread][turn];
}

unsigned long long nanoseconds() {
  static unsigned long long now = 0;
  return now += 50;
}

void run(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  if (watcher()) {
    watcher()(blocks, threads);
    return;
  }
  Block& one = block();
  one.place.blocks.x = blocks;
  one.place.threads.x = threads;
  one.body = &thread;
  one.given.assign(threads, {});
  for (unsigned number = 0; number < blocks; ++number) run_block(number, threads);
}

void watch(Watcher chosen) {
  watcher() = std::move(chosen);
}

}  // namespace prequel::emulated
