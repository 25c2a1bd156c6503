/// libFuzzer's entry for one target; its name is PREQUEL_FUZZ_TARGET.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "hw/base/errors.hpp"
#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kName = PREQUEL_FUZZ_TARGET;
  for (const prequel::FuzzTarget& target : prequel::kFuzzTargets) {
    if (target.name != kName) continue;
    try {
      target.run({reinterpret_cast<const char*>(data), size});
    } catch (const prequel::InputError&) {
    }
    return 0;
  }
  std::abort();  // no such target
}
