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
  const std::chrono::duration<double> spent = now - begin_;
  const double left = spent.count() * static_cast<double>(of - done) / static_cast<double>(done);
  fmt::print(stderr, "\r{} of {} {}, {:.0f} s left ", done, of, what, left);
}

}  // namespace prequel
