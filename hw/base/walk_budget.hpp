#pragma once

/// The one budget of every walk of a parsed tree: files are as deep and as wide as strangers make
/// them, and aliases of YAML make a few bytes a tree without end.

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "hw/base/errors.hpp"

namespace prequel {

/// The limits of a walk.
struct WalkLimits {
  std::size_t units{4u << 20};  ///< bytes, or values, that are visited
  int levels{64};               ///< of nesting
  const char* too_many{"that expands to over 4 MiB"};
};

class WalkBudget {
 public:
  /// `subject` begins the refusals: "c.yaml: YAML".
  explicit WalkBudget(std::string subject, WalkLimits limits = {})
      : subject_(std::move(subject)), limits_(limits) {}

  /// Counts what is visited, each time it is. Throws InputError where it is too much.
  void spend(std::size_t units) {
    spent_ += units;
    if (spent_ > limits_.units) throw InputError(subject_ + " " + limits_.too_many);
  }

  /// One level of nesting, for as long as it lives.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };
  /// Goes one level deeper. Throws InputError beyond the last.
  [[nodiscard]] Level deeper() {
    if (depth_ >= limits_.levels) {
      throw InputError(fmt::format("{} nested deeper than {} levels", subject_, limits_.levels));
    }
    return Level(depth_);
  }

 private:
  std::string subject_;
  WalkLimits limits_;
  std::size_t spent_{0};
  int depth_{0};
};

}  // namespace prequel
