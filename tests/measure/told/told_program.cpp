/// prequel-measure on the told machine: the environment variable PREQUEL_TOLD has its orders, and
/// its time is the machine's. Misuse of the driver that a real one would not have said ends it with
/// 70.

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "calibrate/measure/session.hpp"
#include "tests/measure/told/machine.hpp"

int main(int argc, char** argv) {
  using namespace prequel::told;
  try {
    const char* const orders = std::getenv("PREQUEL_TOLD");
    Machine& one = tell(orders_of(orders ? orders : "", status_of));
    const int status = prequel::run_measure_program(argc, argv, one.clock());
    for (const std::string& complaint : one.complaints()) {
      fmt::print(stderr, "told: {}\n", complaint);
    }
    return one.complaints().empty() ? status : 70;
  } catch (const std::exception& error) {
    fmt::print(stderr, "told: {}\n", error.what());
    return 70;
  }
}
