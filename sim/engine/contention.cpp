#include "sim/engine/contention.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <utility>

namespace prequel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSameInstant = 1e-12;  // flows that end together but for rounding
constexpr TaskId kNoTask = ~TaskId{0};

/// The parts of tasks that take time by themselves. Those on one device slow each other.
class Kernels {
 public:
  Kernels(std::size_t tasks, std::span<const double> overlap_loss)
      : ends_(tasks, kNever), loss_(overlap_loss), devices_(overlap_loss.size()) {}

  [[nodiscard]] double next() {
    while (!queue_.empty() && ends_[queue_.top().task] != queue_.top().time) queue_.pop();
    return queue_.empty() ? kNever : queue_.top().time;
  }

  void start(TaskId task, double duration, const StreamPlace& place, double now) {
    if (place.device == StreamPlace::kNowhere) return schedule(task, now + duration);
    Device& device = touch(place.device, now);
    ++device.busy[static_cast<std::size_t>(place.use)];
    device.running.push_back({task, duration});
  }

  /// The task that ends at `next()`.
  TaskId pop() {
    const TaskId task = queue_.top().task;
    queue_.pop();
    ends_[task] = kNever;
    return task;
  }

  /// A task that has been popped no longer computes; it may still send.
  void stop(TaskId task, const StreamPlace& place, double now) {
    if (place.device == StreamPlace::kNowhere) return;
    std::erase_if(touch(place.device, now).running,
                  [task](const Running& each) { return each.task == task; });
  }

  /// A task is all done.
  void leave(const StreamPlace& place, double now) {
    if (place.device == StreamPlace::kNowhere) return;
    --touch(place.device, now).busy[static_cast<std::size_t>(place.use)];
  }

  /// Once all that begins or ends at `now` has been told.
  void settle(double now) {
    for (const DeviceId id : touched_) {
      Device& device = devices_[id];
      device.slowness = device.busy[0] > 0 && device.busy[1] > 0 ? 1 + loss_[id] : 1;
      device.touched = false;
      for (const Running& each : device.running) {
        schedule(each.task, now + each.remaining * device.slowness);
      }
    }
    touched_.clear();
  }

 private:
  struct Event {
    double time;
    TaskId task;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : task > other.task;
    }
  };
  struct Running {
    TaskId task{};
    double remaining{};  ///< s, were it alone
  };
  struct Device {
    std::uint32_t busy[2]{};  ///< tasks, by StreamUse
    double slowness = 1;
    double since{};  ///< when `remaining` was so
    bool touched = false;
    std::vector<Running> running;
  };

  void schedule(TaskId task, double end) {
    if (std::exchange(ends_[task], end) != end) queue_.push({end, task});
  }

  Device& touch(DeviceId id, double now) {
    Device& device = devices_[id];
    if (std::exchange(device.touched, true)) return device;
    touched_.push_back(id);
    for (Running& each : device.running) {
      each.remaining = std::max(0.0, each.remaining - (now - device.since) / device.slowness);
    }
    device.since = now;
    return device;
  }

  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<double> ends_;  // by task; an event at another time is out of date
  std::span<const double> loss_;
  std::vector<Device> devices_;
  std::vector<DeviceId> touched_;
};

/// The parts of tasks that send. Flows on one route have one rate, so one number says how far they
/// all are: the bytes that a flow there from the beginning would have sent.
class Flows {
 public:
  Flows(const Machine& machine, std::size_t tasks)
      : sharing_(machine.link_capacities, *machine.routes),
        lines_(machine.routes->size()),
        flows_(tasks) {}

  [[nodiscard]] double next() const { return ends_.empty() ? kNever : ends_.begin()->first; }

  void start(TaskId task, const Transfer& transfer, double now) {
    Line& line = lines_[transfer.route];
    line.advance(now);
    Flow& flow = flows_[task];
    flow.target = line.sent + transfer.bytes;
    TaskId* place = &line.first;
    while (*place != kNoTask && flows_[*place].target <= flow.target) place = &flows_[*place].next;
    flow.next = std::exchange(*place, task);
    sharing_.add(transfer.route);
  }

  /// Calls `done` with each flow that ends now.
  template <class Done>
  void end(double now, const Done& done) {
    while (next() <= now * (1 + kSameInstant)) {
      const auto ending = ends_.extract(ends_.begin());
      for (const RouteId route : ending.mapped()) {
        if (lines_[route].ends == ending.key()) end_first(route, now, done);
      }
    }
  }

  /// Once all that begins or ends at `now` has been told.
  void settle(double now) {
    auto place = ends_.end();
    for (const RouteId route : sharing_.update()) {
      Line& line = lines_[route];
      line.advance(now);
      line.rate = sharing_.rate(route);
      line.ends = now + std::max(0.0, flows_[line.first].target - line.sent) / line.rate;
      if (!(line.ends < kNever)) continue;  // over a dead link
      // Routes that end together mostly follow one another.
      if (place == ends_.end() || place->first != line.ends) {
        place = ends_.try_emplace(line.ends).first;
      }
      place->second.push_back(route);
    }
  }

 private:
  struct Flow {
    double target{};  ///< it ends when its line has sent so much
    TaskId next = kNoTask;
  };
  struct Line {
    double sent{};  ///< bytes, at `since`
    double since{};
    double rate{};
    double ends = kNever;    ///< its first flow
    TaskId first = kNoTask;  ///< its flows, ascending by target

    void advance(double now) {
      if (now > since) sent += rate * (now - since);
      since = now;
    }
  };

  template <class Done>
  void end_first(RouteId route, double now, const Done& done) {
    Line& line = lines_[route];
    line.ends = kNever;
    line.sent = flows_[line.first].target;
    line.since = now;
    const double reached = line.sent * (1 + kSameInstant);
    while (line.first != kNoTask && flows_[line.first].target <= reached) {
      const TaskId task = std::exchange(line.first, flows_[line.first].next);
      sharing_.remove(route);
      done(task);
    }
    if (line.first == kNoTask) line = {};
  }

  LinkSharing sharing_;
  std::vector<Line> lines_;                      // by route
  std::vector<Flow> flows_;                      // by task
  std::map<double, std::vector<RouteId>> ends_;  // out of date where the line's is another
};

class ContendedRun {
 public:
  ContendedRun(const TaskGraph& graph, std::span<const double> durations, const Machine& machine)
      : graph_(graph),
        durations_(durations),
        machine_(machine),
        waiting_(graph.predecessor_counts()),
        kernels_(graph.tasks().size(), machine.overlap_loss) {
    times_.finish.assign(waiting_.size(), kNever);
    if (!machine.transfers.empty()) flows_.emplace(machine, waiting_.size());
  }

  EventTimes run() {
    for (TaskId task = 0; task < waiting_.size(); ++task) {
      if (waiting_[task] == 0) start(task);
    }
    while (true) {
      finish_all();
      kernels_.settle(now_);
      if (flows_) flows_->settle(now_);
      const double next = std::min(kernels_.next(), flows_ ? flows_->next() : kNever);
      if (next == kNever) break;
      now_ = next;
      while (kernels_.next() <= now_) end_kernel(kernels_.pop());
      if (flows_) flows_->end(now_, [this](TaskId task) { done_.push_back(task); });
    }
    for (TaskId task = 0; task < waiting_.size(); ++task) {
      if (times_.finish[task] == kNever) times_.stuck.push_back(task);
    }
    return std::move(times_);
  }

 private:
  [[nodiscard]] StreamPlace place(TaskId task) const {
    return machine_.streams.empty() ? StreamPlace{} : machine_.streams[graph_.tasks()[task].stream];
  }

  void start(TaskId task) {
    kernels_.start(task, durations_[graph_.tasks()[task].price], place(task), now_);
  }

  void end_kernel(TaskId task) {
    kernels_.stop(task, place(task), now_);
    const PriceId price = graph_.tasks()[task].price;
    if (flows_ && machine_.transfers[price].route != Transfer::kNone) {
      flows_->start(task, machine_.transfers[price], now_);
    } else {
      done_.push_back(task);
    }
  }

  void finish_all() {
    for (const TaskId task : done_) {
      times_.finish[task] = now_;
      kernels_.leave(place(task), now_);
      for (const TaskId next : graph_.successors(task)) {
        if (--waiting_[next] == 0) start(next);
      }
    }
    done_.clear();
  }

  const TaskGraph& graph_;
  std::span<const double> durations_;
  const Machine& machine_;
  std::vector<std::uint32_t> waiting_;
  EventTimes times_;
  Kernels kernels_;
  std::optional<Flows> flows_;
  std::vector<TaskId> done_;
  double now_ = 0;
};

}  // namespace

EventTimes run_contended(const TaskGraph& graph, std::span<const double> durations,
                         const Machine& machine) {
  return ContendedRun(graph, durations, machine).run();
}

}  // namespace prequel
