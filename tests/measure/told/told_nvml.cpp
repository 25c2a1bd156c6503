/// NVIDIA's management library as a library to load, which tells what the machine of the program
/// that loads it says (told_sensors.cpp).

extern "C" {

double prequel_told_sensor(int which);

enum { kSuccess = 0, kNoDevice = 6 };

int nvmlInit_v2() {
  return prequel_told_sensor(0) > 0.0 ? kSuccess : kNoDevice;
}

int nvmlShutdown() {
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int only;
  *device = &only;
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  constexpr char kVersion[] = "575.0.told";
  for (unsigned i = 0; i < length && i < sizeof kVersion; ++i) version[i] = kVersion[i];
  return kSuccess;
}

int nvmlDeviceGetPowerManagementLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return kSuccess;
}

int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned* megahertz) {
  *megahertz = which == 1 ? static_cast<unsigned>(prequel_told_sensor(1)) : 2619;
  return kSuccess;
}

int nvmlDeviceGetClockInfo(void*, int which, unsigned* megahertz) {
  *megahertz = which == 1 ? static_cast<unsigned>(prequel_told_sensor(2)) : 2619;
  return kSuccess;
}

int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 512000;
  return kSuccess;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = prequel_told_sensor(2) < 0.95 * prequel_told_sensor(1) ? 4 : 0;
  return kSuccess;
}
}
