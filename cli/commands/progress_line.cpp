#include "cli/commands/progress_line.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace prequel {
namespace {

constexpr std::chrono::milliseconds kBetweenLines{100};

}  // namespace

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (next_ > begin_) fmt::print(stderr, "\r{:60}\r", "");
}

void ProgressLine::show(std::string_view what, std::size_t done, std::size_t of) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || done == 0 || now < next_) return;
  next_ = now + kBetweenLines;
  if (what != what_) {  // another kind of work takes another time
    if (!what_.empty()) {
      since_ = now;
      done_before_ = done;
    }
    what_ = what;
  }
  const std::chrono::duration<double> spent = now - since_;
  const auto begun = static_cast<double>(done - done_before_);
  const double left = begun > 0 ? spent.count() * static_cast<double>(of - done) / begun : 0.0;
  const std::string best = best_ > 0 ? fmt::format(", best so far {:.2f} s", best_) : "";
  const std::string time = begun > 0 ? fmt::format(", {:.0f} s left", left) : "";
  fmt::print(stderr, "\r{:60}\r{} of {} {}{}{} ", "", done, of, what, best, time);
}

}  // namespace prequel
