// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 for a machine without a GPU: of the version in STUB_DRIVER_VERSION, without devices.
#include <cstdlib>

extern "C" {
int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("STUB_DRIVER_VERSION");
  *version = text == nullptr ? 13000 : std::atoi(text);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}
}
