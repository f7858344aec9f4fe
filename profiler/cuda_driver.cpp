// SPDX-License-Identifier: Apache-2.0
#include "profiler/cuda_driver.h"

#include <dlfcn.h>

namespace lanescope::profiler {
namespace {

// The driver's own types: results and devices are ints, contexts pointers.
using Result = int;
using Device = int;
using Context = void*;
constexpr char kDriver[] = "libcuda.so.1";

template <typename Function>
bool Find(void* handle, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(handle, name));
  return *function != nullptr;
}

void* Driver() {
  if (void* handle = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  return dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

bool HasCudaDriver() { return Driver() != nullptr; }

int CudaDriverVersion() {
  void* handle = Driver();
  Result (*get_version)(int*);
  int version = 0;
  if (handle == nullptr || !Find(handle, "cuDriverGetVersion", &get_version) || get_version(&version) != 0)
    return 0;
  return version;
}

void SynchronizeDevices() {
  void* handle = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return;
  Result (*count_devices)(int*);
  Result (*get_state)(Device, unsigned*, int*);
  Result (*retain)(Context*, Device);
  Result (*release)(Device);
  Result (*push)(Context);
  Result (*pop)(Context*);
  Result (*synchronize)();
  if (!Find(handle, "cuDeviceGetCount", &count_devices) ||
      !Find(handle, "cuDevicePrimaryCtxGetState", &get_state) ||
      !Find(handle, "cuDevicePrimaryCtxRetain", &retain) ||
      !Find(handle, "cuDevicePrimaryCtxRelease_v2", &release) ||
      !Find(handle, "cuCtxPushCurrent_v2", &push) || !Find(handle, "cuCtxPopCurrent_v2", &pop) ||
      !Find(handle, "cuCtxSynchronize", &synchronize)) {
    return;
  }
  int devices = 0;
  if (count_devices(&devices) != 0) return;
  for (Device device = 0; device < devices; ++device) {
    unsigned flags = 0;
    int active = 0;
    Context context = nullptr;
    if (get_state(device, &flags, &active) != 0 || active == 0 || retain(&context, device) != 0) continue;
    if (push(context) == 0) {
      synchronize();
      pop(&context);
    }
    release(device);
  }
}

}  // namespace lanescope::profiler
