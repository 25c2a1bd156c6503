#pragma once

#include <atomic>
#include <exception>

namespace prequel {

/// Somebody who asked does not want the answer any more: thrown by what takes long and has nothing
/// to tell before its end.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Throws where `stop` is there and set.
inline void heed(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Interrupted();
}

}  // namespace prequel
