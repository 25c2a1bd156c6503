#pragma once

#include <functional>
#include <string>

namespace prequel {

/// Hears what is said beside an answer: lines of text for people, each with its end.
using Tell = std::function<void(const std::string& lines)>;

}  // namespace prequel
