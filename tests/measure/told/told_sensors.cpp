/// Questions of told_nvml.cpp to the program that loads it.

#include "tests/measure/told/machine.hpp"

extern "C" __attribute__((visibility("default"), used)) double prequel_told_sensor(int which) {
  const prequel::told::Machine& machine = prequel::told::machine();
  switch (which) {
    case 0: return machine.orders().sensors ? 1.0 : 0.0;
    case 1: return machine.orders().clock_mhz;
    default: return machine.clock_mhz();
  }
}
