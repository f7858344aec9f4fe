// SPDX-License-Identifier: Apache-2.0
// Green contexts: disjoint sets of multiprocessors of one GPU. The driver's functions are looked up through
// the runtime, so that the module does not link to the driver.
#include <cuda.h>

#include <string>

#include "core/base/error.h"
#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {

#if CUDART_VERSION >= 12050
namespace {

struct Driver {
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetDevResource) get_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) create_stream = nullptr;
  bool complete = false;
};

template <typename Function>
bool Find(const char* name, Function* function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr) {
    cudaGetLastError();
    return false;
  }
  *function = reinterpret_cast<Function>(found);
  return true;
}

const Driver& GetDriver() {
  static const Driver driver = [] {
    Driver made;
    made.complete =
        Find("cuDeviceGet", &made.device_get) && Find("cuDeviceGetDevResource", &made.get_resource) &&
        Find("cuDevSmResourceSplitByCount", &made.split) &&
        Find("cuDevResourceGenerateDesc", &made.describe) && Find("cuGreenCtxCreate", &made.create) &&
        Find("cuGreenCtxDestroy", &made.destroy) && Find("cuGreenCtxStreamCreate", &made.create_stream);
    return made;
  }();
  return driver;
}

void CheckDriver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  throw Error(Code::kInternal,
              std::string(what) + " failed: CUDA driver error " + std::to_string(static_cast<int>(status)));
}

// The multiprocessors of the device, and how many groups of the smallest size they split into.
CUdevResource AllMultiprocessors(int ordinal, CUdevice* device) {
  const Driver& driver = GetDriver();
  Check(cudaSetDevice(ordinal), "cudaSetDevice");
  Check(cudaFree(nullptr), "cudaFree");  // the primary context must exist
  CheckDriver(driver.device_get(device, ordinal), "cuDeviceGet");
  CUdevResource all;
  CheckDriver(driver.get_resource(*device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  return all;
}

unsigned SmallestGroup(int ordinal) {
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return properties.major >= 9 ? 8 : properties.major == 8 ? 4 : 2;
}

std::vector<CUdevResource> SmallestGroups(int ordinal, CUdevice* device) {
  const Driver& driver = GetDriver();
  const CUdevResource all = AllMultiprocessors(ordinal, device);
  const unsigned smallest = SmallestGroup(ordinal);
  unsigned count = 0;
  CheckDriver(driver.split(nullptr, &count, &all, nullptr, 0, smallest), "cuDevSmResourceSplitByCount");
  std::vector<CUdevResource> groups(count);
  CheckDriver(driver.split(groups.data(), &count, &all, nullptr, 0, smallest), "cuDevSmResourceSplitByCount");
  groups.resize(count);
  return groups;
}

}  // namespace

std::vector<int> SizesOfPartitionGroups(int ordinal) {
  std::vector<int> sizes;
  if (!GetDriver().complete) return sizes;
  CUdevice device;
  for (const CUdevResource& group : SmallestGroups(ordinal, &device))
    sizes.push_back(static_cast<int>(group.sm.smCount));
  return sizes;
}

std::vector<Partition> MakePartitions(int ordinal, const std::vector<int>& groups) {
  const Driver& driver = GetDriver();
  CUdevice device;
  std::vector<CUdevResource> pieces = SmallestGroups(ordinal, &device);
  std::vector<Partition> partitions;
  size_t next = 0;
  for (const int wanted : groups) {
    LANESCOPE_CHECK(wanted > 0 && next + static_cast<size_t>(wanted) <= pieces.size());
    Partition partition;
    for (int i = 0; i < wanted; ++i)
      partition.multiprocessors += static_cast<int>(pieces[next + static_cast<size_t>(i)].sm.smCount);
    CUdevResourceDesc description;
    CheckDriver(driver.describe(&description, &pieces[next], static_cast<unsigned>(wanted)),
                "cuDevResourceGenerateDesc");
    CUgreenCtx context = nullptr;
    CheckDriver(driver.create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                "cuGreenCtxCreate");
    partition.handle = reinterpret_cast<PartitionHandle>(context);
    partitions.push_back(partition);
    next += static_cast<size_t>(wanted);
  }
  return partitions;
}

void DropPartition(PartitionHandle partition) noexcept {
  GetDriver().destroy(reinterpret_cast<CUgreenCtx>(partition));
}

cudaStream_t MakePartitionStream(PartitionHandle partition, int priority) {
  CUstream stream = nullptr;
  CheckDriver(GetDriver().create_stream(&stream, reinterpret_cast<CUgreenCtx>(partition),
                                        CU_STREAM_NON_BLOCKING, priority),
              "cuGreenCtxStreamCreate");
  return stream;
}

#else

std::vector<int> SizesOfPartitionGroups(int) { return {}; }
std::vector<Partition> MakePartitions(int, const std::vector<int>&) { return {}; }
void DropPartition(PartitionHandle) noexcept {}
cudaStream_t MakePartitionStream(PartitionHandle, int) { return nullptr; }

#endif

}  // namespace lanescope::exec::cuda
