/// Debian's libyaml-cpp.a asks glibc whether the program has one thread, by an address that a
/// shared library may not have. The module that links it answers by itself: no, which is always
/// safe.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded;
char __libc_single_threaded = 0;
