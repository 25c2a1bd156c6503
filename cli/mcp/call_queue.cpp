#include "cli/mcp/call_queue.hpp"

#include <utility>

namespace prequel {
namespace {

/// How long a call that was stopped may take to end.
constexpr std::chrono::seconds kGrace{2};

}  // namespace

/// A call while it runs; the thread that makes the reply keeps it, whoever has given up on it.
struct CallQueue::Running {
  std::string id;
  std::atomic<bool> stop{};
  std::mutex mutex;  ///< of what follows
  std::condition_variable changed;
  bool done{}, cancelled{};
  std::optional<std::string> reply;
};

CallQueue::CallQueue(Print print, std::chrono::milliseconds deadline)
    : print_(std::move(print)), deadline_(deadline), worker_([this] { work(); }) {}

CallQueue::~CallQueue() {
  static_cast<void>(finish());
}

void CallQueue::add(std::string id, Answer answer, std::string late) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(id), std::move(late), std::move(answer)});
  changed_.notify_all();
}

void CallQueue::cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Call& call) { return call.id == id; });
  if (running_ == nullptr || running_->id != id) return;
  const std::lock_guard of_call(running_->mutex);
  running_->stop = running_->cancelled = true;
  running_->changed.notify_all();
}

void CallQueue::print(const std::string& reply) {
  const std::lock_guard lock(printing_);
  print_(reply);
}

bool CallQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
  return !left_behind_;
}

void CallQueue::work() {
  while (true) {
    Call call;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
      running_ = std::make_shared<Running>();
      running_->id = call.id;
    }
    run(call);
    const std::lock_guard lock(mutex_);
    running_.reset();
  }
}

void CallQueue::run(const Call& call) {
  const std::shared_ptr<Running> its = running_;
  std::thread maker([its, answer = call.answer] {
    std::optional<std::string> reply = answer(its->stop);
    const std::lock_guard lock(its->mutex);
    its->reply = std::move(reply);
    its->done = true;
    its->changed.notify_all();
  });
  std::unique_lock lock(its->mutex);
  const bool in_time =
      its->changed.wait_for(lock, deadline_, [&] { return its->done || its->cancelled; });
  its->stop = its->stop || !in_time;
  if (!its->done) its->changed.wait_for(lock, kGrace, [&] { return its->done; });
  const bool done = its->done, cancelled = its->cancelled;
  const std::optional<std::string> reply = its->reply;
  lock.unlock();
  if (done) {
    maker.join();
  } else {
    maker.detach();
    const std::lock_guard of_queue(mutex_);
    left_behind_ = true;
  }
  if (cancelled) return;
  if (!in_time) return print(call.late);
  if (reply) print(*reply);
}

}  // namespace prequel
