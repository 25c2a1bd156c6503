#pragma once

/// Targets of fuzzing: every reader of foreign text. `fuzzer.cpp` feeds one of them by libFuzzer;
/// `corpus_test.cpp` feeds the corpus to all of them in the ordinary tests.

#include <array>
#include <string_view>

namespace prequel {

/// Reads `text` and checks what must hold of the result, whatever the text. An InputError is a good
/// answer; every other exception, and every failed check, is a defect.
struct FuzzTarget {
  const char* name;  ///< and that of its corpus folder
  void (*run)(std::string_view text);
};

extern const std::array<FuzzTarget, 15> kFuzzTargets;

}  // namespace prequel
