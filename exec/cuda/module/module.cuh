// SPDX-License-Identifier: Apache-2.0
// Common parts of the CUDA module's files.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "exec/cuda/api.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {

inline cudaStream_t ToCuda(StreamHandle stream) { return reinterpret_cast<cudaStream_t>(stream); }
inline cudaEvent_t ToCuda(EventHandle event) { return reinterpret_cast<cudaEvent_t>(event); }

std::unique_ptr<Api> MakeApi();
std::unique_ptr<StreamContext> MakeStreamLaunch(const LaunchSpec& spec);
std::unique_ptr<DeviceLoad> MakeDeviceLoad(WorkClass work_class, const LaunchSpec& spec);

// Shares of a GPU's multiprocessors (green contexts); the driver's functions are looked up at run time.
std::vector<int> SizesOfPartitionGroups(int ordinal);
std::vector<Partition> MakePartitions(int ordinal, const std::vector<int>& groups);
void DropPartition(PartitionHandle partition) noexcept;
cudaStream_t MakePartitionStream(PartitionHandle partition, int priority);

// Api's calls of kernels made at run time.
KernelHandle LoadMadeKernel(const std::string& binary, const char* name);
void UnloadMadeKernel(KernelHandle kernel) noexcept;
void LaunchMadeKernel(KernelHandle kernel, cudaStream_t stream, int64_t blocks, int threads, void* argument);

}  // namespace lanescope::exec::cuda
