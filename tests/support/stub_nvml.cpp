// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 and libnvidia-ml.so.1 in one, of two GPUs that NVML numbers the other way round.
#include <cstdio>
#include <cstring>

namespace {

struct Gpu {
  const char* bus_id;
  unsigned mhz = 0;
  unsigned long long reasons = 0;
};
Gpu gpus[] = {{"0000:02:00.0", 1980, 0}, {"0000:01:00.0", 1980, 0}};

}  // namespace

extern "C" {

// By the driver's number: what a test wants to be read.
void StubSetGpu(int ordinal, unsigned mhz, unsigned long long reasons) {
  gpus[1 - ordinal].mhz = mhz;
  gpus[1 - ordinal].reasons = reasons;
}

int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int ordinal) {
  *device = 100 + ordinal;
  return ordinal < 2 ? 0 : 101;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<size_t>(size), "%s", gpus[1 - (device - 100)].bus_id);
  return 0;
}
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* text, Gpu** gpu) {
  for (Gpu& one : gpus) {
    if (std::strcmp(one.bus_id, text) != 0) continue;
    *gpu = &one;
    return 0;
  }
  return 6;
}
int nvmlDeviceGetClockInfo(Gpu* gpu, int domain, unsigned* mhz) {
  *mhz = domain == 1 ? gpu->mhz : 0;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu* gpu, unsigned long long* reasons) {
  *reasons = gpu->reasons;
  return 0;
}
}
