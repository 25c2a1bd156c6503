#pragma once

/// Helper that the tests of bad input share.

#include <string>

#include "hw/base/errors.hpp"

namespace prequel {

/// The text of the InputError that `action` throws, or "no error".
template <class Action>
std::string error_text(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace prequel
