#pragma once

/// Calls of tools, one after the other on a thread of their own, so that whoever reads messages
/// hears pings and cancellations meanwhile.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace prequel {

class CallQueue {
 public:
  /// Makes the reply; ends early where `stop` is set.
  using Answer = std::function<std::optional<std::string>(const std::atomic<bool>& stop)>;
  /// Takes one reply; called by one thread at a time.
  using Print = std::function<void(const std::string& reply)>;

  CallQueue(Print print, std::chrono::milliseconds deadline);
  /// Waits for all that was added.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Adds a call. `late` is the reply where it takes longer than the deadline.
  void add(std::string id, Answer answer, std::string late);
  /// Forgets the call of that id, or stops it: no reply comes of it.
  void cancel(const std::string& id);
  /// Prints a reply at once, whatever runs.
  void print(const std::string& reply);
  /// Waits for all that was added. Returns whether every call has ended: one that heeds no stop is
  /// left behind.
  bool finish();

 private:
  struct Call {
    std::string id, late;
    Answer answer;
  };
  struct Running;

  void work();
  void run(const Call& call);

  Print print_;
  std::chrono::milliseconds deadline_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::deque<Call> waiting_;
  std::shared_ptr<Running> running_;
  bool closed_{}, left_behind_{};
  std::mutex printing_;
  std::thread worker_;
};

}  // namespace prequel
