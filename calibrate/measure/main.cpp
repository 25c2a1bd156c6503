/// prequel-measure: measures this machine into a file. `prequel calibrate measure` runs it.

#include "calibrate/measure/session.hpp"

int main(int argc, char** argv) {
  return prequel::run_measure_program(argc, argv, prequel::steady_clock());
}
