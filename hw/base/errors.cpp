#include "hw/base/errors.hpp"

#include <utility>

#include <fmt/ranges.h>

namespace prequel {

InputError::InputError(std::vector<std::string> problems)
    : std::runtime_error(fmt::format("{}", fmt::join(problems, "\n"))),
      problems_(std::move(problems)) {}

InputError::InputError(std::string subject, const std::string& problem)
    : InputError((subject.empty() ? "" : subject + ": ") + problem) {
  subject_ = std::move(subject);
}

}  // namespace prequel
