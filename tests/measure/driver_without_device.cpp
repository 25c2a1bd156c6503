/// As much of NVIDIA's driver (libcuda) as cuDNN looks for when it compiles for a GPU that is not
/// there: it takes kernels and keeps nothing, and who asks for a device hears that there is none.
/// Not by cuda.h, which renames functions to their later versions; cuDNN asks for these names.

extern "C" {

enum Result { success = 0, no_device = 100 };

Result cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*,
                         unsigned) {
  static int loaded;
  *library = &loaded;
  return success;
}

Result cuLibraryGetKernel(void** kernel, void* library, const char*) {
  *kernel = library;
  return success;
}

Result cuLibraryUnload(void*) {
  return success;
}

Result cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return success;
}

Result cuKernelSetAttribute(int, int, void*, int) {
  return success;
}

Result cuGetErrorString(Result, const char** text) {
  *text = "no device";
  return success;
}

// Called with arguments, of which nothing is needed to say that there is no device.
#define PREQUEL_NO_DEVICE(name) \
  Result name() {               \
    return no_device;           \
  }
PREQUEL_NO_DEVICE(cuCtxGetCurrent)
PREQUEL_NO_DEVICE(cuCtxGetLimit)
PREQUEL_NO_DEVICE(cuCtxPopCurrent)
PREQUEL_NO_DEVICE(cuCtxPushCurrent)
PREQUEL_NO_DEVICE(cuDeviceGet)
PREQUEL_NO_DEVICE(cuDeviceGetCount)
PREQUEL_NO_DEVICE(cuDriverGetVersion)
PREQUEL_NO_DEVICE(cuGetErrorName)
PREQUEL_NO_DEVICE(cuInit)
PREQUEL_NO_DEVICE(cuLaunchCooperativeKernel)
PREQUEL_NO_DEVICE(cuLaunchKernel)
PREQUEL_NO_DEVICE(cuLaunchKernelEx)
PREQUEL_NO_DEVICE(cuLibraryLoadFromFile)
PREQUEL_NO_DEVICE(cuLinkAddData)
PREQUEL_NO_DEVICE(cuLinkComplete)
PREQUEL_NO_DEVICE(cuLinkCreate)
PREQUEL_NO_DEVICE(cuLinkDestroy)
PREQUEL_NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
PREQUEL_NO_DEVICE(cuStreamGetCtx)
#undef PREQUEL_NO_DEVICE
}
