// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 of a computer with the GPUs that STUB_GPUS names, as this process sees them: "x,y" are two,
// with these letters for UUIDs.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string Names() {
  const char* text = std::getenv("STUB_GPUS");
  std::string names;
  for (const char* c = text != nullptr ? text : ""; *c != '\0'; ++c) {
    if (*c != ',') names += *c;
  }
  return names;
}

}  // namespace

extern "C" {
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Names().size());
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetUuid_v2(void* uuid, int device) {
  std::memset(uuid, Names().at(static_cast<size_t>(device)), 16);
  return 0;
}
}
