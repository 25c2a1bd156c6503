#include "sim/run/reservation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "hw/base/units.hpp"
#include "sim/run/draws.hpp"
#include "sim/run/failure_process.hpp"

namespace prequel {
namespace {

/// A play ends here, in units of the work and of the reservation: who needs longer gets nowhere.
constexpr double kLongestWork = 10, kLongestReservation = 4;
constexpr double kMostLogStep = 1.5;  // of a drawn step over the predicted one

/// The purpose of each stream of draws.
enum DrawStream : std::uint64_t {
  kStepTime,
  kNodeRate,
  kSlowRate,
  kCorruptionRate,
  kStart,
  kNodeFailures,
  kJobFailures,
  kPlannedStops,
  kCorruptions,
  kSlowNodes,
  kWalltimes
};
/// The traits of one event that are drawn.
enum EventTrait : std::uint64_t {
  kRestartTime,
  kIsUnattended,
  kDomain,
  kRepairTime,
  kIsHang,
  kSlowdown,
  kDuration
};

std::uint64_t word(const ChanceEvent& event, EventTrait trait) {
  return draws::key(event.identity, trait);
}

/// A state that training can go on from.
struct SavedState {
  double work{};          ///< done in it, s at the predicted speed
  std::int64_t block{1};  ///< number of the next interval's end
};

struct Repair {
  double end{};
  std::size_t domain{};
};
struct SlowSpell {
  double end{};
  double factor{};  ///< by which steps take longer
};
/// A silent corruption that nobody has seen yet.
struct Corruption {
  double found{};
  ChanceEvent event;
  SavedState clean;  ///< the last one before it
};

template <class Timed>
void push(std::vector<Timed>& heap, const Timed& one, double Timed::*time) {
  heap.push_back(one);
  std::ranges::push_heap(heap, std::greater{}, time);
}
template <class Timed>
Timed pop(std::vector<Timed>& heap, double Timed::*time) {
  std::ranges::pop_heap(heap, std::greater{}, time);
  const Timed one = heap.back();
  heap.pop_back();
  return one;
}
template <class Timed>
double first(const std::vector<Timed>& heap, double Timed::*time) {
  return heap.empty() ? kNever : heap.front().*time;
}

/// One replication.
class Play {
 public:
  Play(const Reservation& asked, std::uint64_t key, std::span<const double> times,
       std::span<double> work_at);
  Replication run();

 private:
  [[nodiscard]] double rate_factor(DrawStream stream) const {
    return draws::lognormal(draws::key(key_, stream), 1, asked_.reliability.rate_sigma);
  }
  [[nodiscard]] PoissonProcess process(DrawStream stream, double rate) const {
    return {draws::key(key_, stream), rate};
  }
  [[nodiscard]] double next_node_failure() const {
    return unlike_nodes_ ? unlike_nodes_->next() : node_failures_.next();
  }
  [[nodiscard]] double next_time() const;
  void handle();

  void advance(double to);
  void stand_down(double to);
  void stall(double to);
  void compute(double to);
  void add_steps(double seconds);
  void jump_over_intervals(double to);
  void capture();

  void fail(const ChanceEvent& event, Loss loss, double unseen);
  void roll_back(Loss loss);
  void drain(Loss loss, double restart);
  void go_down(Loss loss, double seconds);
  void lose_node(const ChanceEvent& event);
  void repair();
  void corrupt(const ChanceEvent& event);
  void find_corruption();
  void slow_down(const ChanceEvent& event);
  void end_walltime();
  void set_pace();
  [[nodiscard]] double restart_time(const ChanceEvent& event);
  [[nodiscard]] std::int64_t replicas_left() const;

  void lose(Loss loss, double seconds) { out_.lost[static_cast<std::size_t>(loss)] += seconds; }
  /// Tests whether a node is missing without which the job does not go on.
  [[nodiscard]] bool waits() const {
    return missing_ > 0 && (asked_.without_spare != WithoutSpare::shrink || replicas_left() < 1);
  }
  [[nodiscard]] bool is_idle() const { return waits() && now_ >= up_at_; }
  [[nodiscard]] bool is_up() const { return now_ >= up_at_ && !waits(); }
  [[nodiscard]] double pace() const { return step_ * slowdown_ * shrunk_; }
  /// Work at which the next checkpoint is taken.
  [[nodiscard]] double mark() const {
    return std::min(asked_.work, real(block_) * asked_.saving.interval);
  }
  [[nodiscard]] const SavedState& durable() {
    if (write_end_ <= now_) durable_ = taken_;
    return durable_;
  }

  const Reservation& asked_;
  std::uint64_t key_;
  std::span<const double> times_;
  std::span<double> work_at_;
  double step_;   ///< s of a step over the predicted one
  double limit_;  ///< s at which the play is given up

  PoissonProcess node_failures_, job_failures_, planned_stops_, corruptions_, slow_nodes_;
  std::optional<UnlikeNodes> unlike_nodes_;
  std::vector<Repair> repairs_;  ///< a heap, as the next two
  std::vector<SlowSpell> slow_;
  std::vector<Corruption> unseen_;
  double job_end_{kNever};  ///< by the walltime limit
  std::uint64_t walltimes_{};

  double now_{};
  double work_{};
  std::int64_t block_{1};
  SavedState taken_, durable_;
  double write_end_{-kNever};  ///< of the checkpoint that was taken last
  double stall_end_{-kNever};  ///< of the checkpoint being taken; -∞: none is
  double up_at_{};             ///< when training goes on
  double attended_at_{};       ///< until then nobody restarts
  double start_again_{};       ///< s of the last restart behind its detection
  Loss down_for_{Loss::start};
  double slowdown_{1}, shrunk_{1};  ///< s of a step over one on all nodes, none of them slow
  std::int64_t missing_{};
  std::vector<std::int64_t> spares_, lacking_;  ///< by domain
  bool finished_{false}, gave_up_{false};
  std::size_t noted_{};  ///< of `times_`
  Replication out_;
  std::optional<Replication> at_end_;  ///< of the reservation
};

Play::Play(const Reservation& asked, std::uint64_t key, std::span<const double> times,
           std::span<double> work_at)
    : asked_(asked),
      key_(key),
      times_(times),
      work_at_(work_at),
      step_(1),
      limit_(kLongestWork * (asked.work + asked.first_start)),
      node_failures_(0, 0),
      job_failures_(0, 0),
      planned_stops_(0, 0),
      corruptions_(0, 0),
      slow_nodes_(0, 0) {
  const Reliability& rates = asked.reliability;
  const double nodes = real(asked.nodes);
  if (asked.length < kNever) limit_ = std::max(limit_, kLongestReservation * asked.length);
  if (asked.step_scale > 0) {
    const std::uint64_t stream = draws::key(key, kStepTime);
    const double t =
        draws::student_t4(draws::key(stream, 0), draws::key(stream, 1), draws::key(stream, 2));
    step_ = draws::exponential_of(std::clamp(asked.step_scale * t, -kMostLogStep, kMostLogStep));
  }
  const double node_rate = rates.node_failures * rate_factor(kNodeRate);
  if (rates.lemon_shape > 0) {
    unlike_nodes_.emplace(draws::key(key, kNodeFailures), asked.nodes, node_rate, rates.lemon_shape,
                          limit_);
  } else {
    node_failures_ = process(kNodeFailures, nodes * node_rate);
  }
  job_failures_ = process(
      kJobFailures, std::max(rates.job_failures * nodes * node_rate, rates.least_job_failures));
  planned_stops_ = process(kPlannedStops, nodes * rates.planned_stops);
  corruptions_ =
      process(kCorruptions, nodes * rates.silent_corruption * rate_factor(kCorruptionRate));
  slow_nodes_ = process(kSlowNodes, nodes * rates.fail_slow * rate_factor(kSlowRate));
  const auto domains = static_cast<std::size_t>(asked.domains);
  const std::int64_t spares = asked.spares + asked.pool;
  spares_.assign(domains, spares / asked.domains);
  for (std::size_t i = 0; i < static_cast<std::size_t>(spares % asked.domains); ++i) {
    ++spares_[i];
  }
  lacking_.assign(domains, 0);
  up_at_ = draws::lognormal(draws::key(key, kStart), asked.first_start, rates.restart_sigma);
  if (asked.walltime > 0) job_end_ = asked.walltime;
}

Replication Play::run() {
  while (!finished_ && !gave_up_) {
    const double next = std::min(next_time(), limit_);
    advance(next);
    if (finished_ || next >= limit_) break;
    handle();
  }
  if (gave_up_ && !at_end_ && asked_.length < kNever) {
    lose(Loss::waiting_for_spares, asked_.length - now_);
    now_ = asked_.length;
  }
  for (; noted_ < times_.size(); ++noted_) work_at_[noted_] = work_;
  Replication result = at_end_.value_or(out_);
  if (!at_end_) {
    result.elapsed = now_;
    result.work = work_;
  }
  result.finished = finished_ ? now_ : kNever;
  const double evaluation = result.productive * asked_.evaluation_share;
  result.productive -= evaluation;
  result.lost[static_cast<std::size_t>(Loss::evaluation)] += evaluation;
  return result;
}

double Play::next_time() const {
  double next =
      std::min({next_node_failure(), job_failures_.next(), planned_stops_.next(),
                corruptions_.next(), slow_nodes_.next(), first(repairs_, &Repair::end),
                first(slow_, &SlowSpell::end), first(unseen_, &Corruption::found), job_end_});
  if (!at_end_) next = std::min(next, asked_.length);
  if (noted_ < times_.size()) next = std::min(next, times_[noted_]);
  return next;
}

void Play::handle() {
  if (noted_ < times_.size() && times_[noted_] <= now_) {
    work_at_[noted_++] = work_;
  } else if (!at_end_ && asked_.length <= now_) {
    at_end_ = out_;
    at_end_->elapsed = now_;
    at_end_->work = work_;
  } else if (first(repairs_, &Repair::end) <= now_) {
    repair();
  } else if (first(slow_, &SlowSpell::end) <= now_) {
    pop(slow_, &SlowSpell::end);
    set_pace();
  } else if (first(unseen_, &Corruption::found) <= now_) {
    find_corruption();
  } else if (next_node_failure() <= now_) {
    const ChanceEvent event = unlike_nodes_ ? unlike_nodes_->pop() : node_failures_.pop();
    if (!is_idle()) fail(event, Loss::node_failures, 0);
    lose_node(event);
  } else if (job_failures_.next() <= now_) {
    const ChanceEvent event = job_failures_.pop();
    const bool hang = draws::share(word(event, kIsHang)) < asked_.reliability.hang_share;
    if (is_idle()) return;
    fail(event, hang ? Loss::hangs : Loss::job_failures, hang ? asked_.reliability.watchdog : 0);
  } else if (planned_stops_.next() <= now_) {
    const ChanceEvent event = planned_stops_.pop();
    if (is_idle()) return;
    ++out_.stops;
    drain(Loss::planned_stops, restart_time(event) - asked_.reliability.detect);
  } else if (corruptions_.next() <= now_) {
    corrupt(corruptions_.pop());
  } else if (slow_nodes_.next() <= now_) {
    slow_down(slow_nodes_.pop());
  } else if (job_end_ <= now_) {
    end_walltime();
  }
}

/// Lets time pass until `to`, before which nothing but steps and checkpoints happens.
void Play::advance(double to) {
  while (now_ < to && !finished_) {
    if (!is_up()) {
      stand_down(to);
    } else if (stall_end_ > -kNever) {
      stall(to);
    } else {
      jump_over_intervals(to);
      compute(to);
    }
  }
}

void Play::stand_down(double to) {
  Loss loss = down_for_;
  double end = to;
  if (now_ >= up_at_) {
    loss = Loss::waiting_for_spares;
  } else if (now_ < attended_at_) {
    loss = Loss::unattended;
    end = std::min({to, up_at_, attended_at_});
  } else {
    end = std::min(to, up_at_);
  }
  lose(loss, end - now_);
  now_ = end;
}

void Play::stall(double to) {
  const double end = std::min(to, stall_end_);
  lose(Loss::saving, end - now_);
  now_ = end;
  if (now_ >= stall_end_) capture();
}

/// A checkpoint is in memory or, where nothing is left to write, durable. The one before it is: its
/// write was waited for.
void Play::capture() {
  stall_end_ = -kNever;
  durable_ = taken_;
  taken_ = {work_, ++block_};
  write_end_ = now_ + asked_.saving.write;
  if (work_ >= asked_.work) finished_ = true;
}

/// Passes whole intervals, each with its checkpoint, at once; the last one of all is left.
void Play::jump_over_intervals(double to) {
  const SavingTimes& saving = asked_.saving;
  if (work_ != taken_.work || work_ != real(block_ - 1) * saving.interval) return;
  const double steps = saving.interval * pace();
  const bool writes_meet = saving.write > steps;
  if (writes_meet && write_end_ < now_ + saving.write) return;  // the first does not wait
  const double period = std::max(steps, saving.write) + saving.stall;
  const double whole = std::floor((to - now_) / period);
  const double left = std::floor((asked_.work - work_) / saving.interval) - 1;
  const double count = std::min(whole, left);
  if (!(count >= 1)) return;
  add_steps(count * steps);
  lose(Loss::saving, count * (period - steps));
  now_ = std::min(to, now_ + count * period);
  const auto blocks = static_cast<std::int64_t>(count);
  block_ += blocks;
  work_ = real(block_ - 1) * saving.interval;
  durable_ = blocks == 1 ? taken_ : SavedState{real(block_ - 2) * saving.interval, block_ - 1};
  taken_ = {work_, block_};
  write_end_ = now_ + saving.write;
}

void Play::compute(double to) {
  const double to_mark = (mark() - work_) * pace();
  if (now_ + to_mark <= to) {
    add_steps(to_mark);
    now_ += to_mark;
    work_ = mark();
    stall_end_ = std::max(now_, write_end_) + asked_.saving.stall;
    if (stall_end_ <= now_) capture();
    return;
  }
  const double seconds = to - now_;
  if (seconds <= 0) return;
  add_steps(seconds);
  now_ = to;
  work_ = std::min(mark(), work_ + seconds / pace());
}

/// Accounts for seconds of computing.
void Play::add_steps(double seconds) {
  const double at_full_speed = seconds / slowdown_;
  out_.computing += seconds;
  out_.productive += at_full_speed / shrunk_;
  lose(Loss::fail_slow, seconds - at_full_speed);
  lose(Loss::fewer_replicas, at_full_speed - at_full_speed / shrunk_);
}

double Play::restart_time(const ChanceEvent& event) {
  const Reliability& rates = asked_.reliability;
  double seconds = draws::lognormal(word(event, kRestartTime), rates.restart, rates.restart_sigma) +
                   asked_.saving.load + asked_.queue;
  start_again_ = std::max(0.0, seconds - rates.detect);
  return seconds;
}

/// The job dies now; `unseen` s later somebody could know.
void Play::fail(const ChanceEvent& event, Loss loss, double unseen) {
  ++out_.stops;
  const Reliability& rates = asked_.reliability;
  roll_back(loss);
  double seconds = unseen + restart_time(event);
  if (rates.unattended_share > 0 &&
      draws::share(word(event, kIsUnattended)) < rates.unattended_share) {
    attended_at_ = std::max(attended_at_, now_ + rates.unattended);
    seconds += rates.unattended;
  }
  go_down(loss, seconds);
}

void Play::roll_back(Loss loss) {
  const SavedState& from = durable();
  const double again = (work_ - from.work) * step_;
  out_.productive -= again;
  out_.repeated += again;
  lose(loss, again);
  work_ = from.work;
  block_ = from.block;
  taken_ = from;
  write_end_ = stall_end_ = -kNever;
  std::erase_if(unseen_, [&](const Corruption& one) { return one.clean.work >= work_; });
  std::ranges::make_heap(unseen_, std::greater{}, &Corruption::found);
}

void Play::go_down(Loss loss, double seconds) {
  up_at_ = std::max(up_at_, now_ + seconds);
  down_for_ = loss;
  if (asked_.queue > 0 && asked_.walltime > 0) job_end_ = up_at_ + asked_.walltime;
}

/// The job saves, stops and starts again after `restart` s.
void Play::drain(Loss loss, double restart) {
  double saved = now_;
  if (is_up()) {
    (void)durable();
    saved = std::max(now_, write_end_) + asked_.saving.stall + asked_.saving.write;
    taken_ = {work_, block_};
    write_end_ = saved;
    stall_end_ = -kNever;
  }
  go_down(loss, saved - now_ + std::max(0.0, restart));
}

void Play::lose_node(const ChanceEvent& event) {
  const auto domains = spares_.size();
  const auto domain = unlike_nodes_ ? static_cast<std::size_t>(event.node) * domains /
                                          static_cast<std::size_t>(asked_.nodes)
                                    : static_cast<std::size_t>(draws::share(word(event, kDomain)) *
                                                               static_cast<double>(domains));
  const double time = asked_.reliability.repair * draws::exponential(word(event, kRepairTime));
  push(repairs_, {now_ + time, domain}, &Repair::end);
  if (spares_[domain] > 0) {
    --spares_[domain];
    return;
  }
  ++lacking_[domain];
  ++missing_;
  if (asked_.without_spare == WithoutSpare::stop) gave_up_ = true;
  set_pace();
}

void Play::repair() {
  const Repair repaired = pop(repairs_, &Repair::end);
  if (lacking_[repaired.domain] == 0) {
    ++spares_[repaired.domain];
    return;
  }
  const bool idle = is_idle();
  --lacking_[repaired.domain];
  --missing_;
  set_pace();
  if (idle && !waits()) {
    go_down(Loss::node_failures, start_again_);
  } else if (asked_.without_spare == WithoutSpare::shrink) {
    drain(Loss::fewer_replicas,
          asked_.reliability.restart - asked_.reliability.detect + asked_.saving.load);
  }
}

void Play::corrupt(const ChanceEvent& event) {
  if (!is_up()) return;
  push(unseen_, {now_ + asked_.reliability.corruption_latency, event, durable()},
       &Corruption::found);
}

void Play::find_corruption() {
  const Corruption found = pop(unseen_, &Corruption::found);
  durable_ = taken_ = found.clean;
  write_end_ = -kNever;
  fail(found.event, Loss::silent_corruption, 0);
}

void Play::slow_down(const ChanceEvent& event) {
  const Reliability& rates = asked_.reliability;
  const double range = draws::natural_log(rates.slowdown_high / rates.slowdown_low);
  const double more =
      rates.slowdown_low * draws::exponential_of(range * draws::share(word(event, kSlowdown)));
  const double sigma = draws::natural_log(rates.slow_p90 / rates.slow_median) / draws::kNormalP90;
  const double duration = std::min(
      rates.slow_longest, draws::lognormal(word(event, kDuration), rates.slow_median, sigma));
  push(slow_, {now_ + duration, 1 + more}, &SlowSpell::end);
  set_pace();
}

void Play::end_walltime() {
  const ChanceEvent event{now_, draws::key(draws::key(key_, kWalltimes), ++walltimes_), 0};
  ++out_.stops;
  drain(Loss::walltime, restart_time(event) - asked_.reliability.detect);
  job_end_ = up_at_ + asked_.walltime;
}

std::int64_t Play::replicas_left() const {
  const std::int64_t gone = (missing_ * asked_.replicas + asked_.nodes - 1) / asked_.nodes;
  return asked_.replicas - gone;
}

/// All nodes wait for the slowest; replicas that are left share the batch.
void Play::set_pace() {
  slowdown_ = 1;
  for (const SlowSpell& one : slow_) slowdown_ = std::max(slowdown_, one.factor);
  shrunk_ = 1;
  const std::int64_t left = replicas_left();
  if (asked_.without_spare != WithoutSpare::shrink || left < 1 || left == asked_.replicas) return;
  const std::int64_t all = asked_.micro_batches * asked_.replicas;
  shrunk_ = real((all + left - 1) / left) / real(asked_.micro_batches);
}

}  // namespace

Replication play(const Reservation& reservation, std::uint64_t seed, std::uint64_t replication,
                 std::span<const double> times, std::span<double> work_at) {
  return Play(reservation, draws::key(draws::mixed(seed), replication), times, work_at).run();
}

}  // namespace prequel
