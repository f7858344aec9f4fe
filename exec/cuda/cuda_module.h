// SPDX-License-Identifier: Apache-2.0
// The CUDA backend is a module: a shared library beside the program, loaded when the first GPU is asked for,
// so that one program runs everywhere.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exec/device/kernel.h"

namespace lanescope::exec::cuda {

class Api;

// The functions of the module. Lives as long as the process; thread-safe.
class CudaModule {
 public:
  virtual ~CudaModule() = default;
  virtual Api& api() = 0;
  virtual const KernelRegistry& kernels() = 0;
};

// Loads the module at the first call. Null without it; `reason` then says why in one line and what to do.
CudaModule* LoadCudaModule(std::string* reason);

// Where it is looked for, unless LANESCOPE_CUDA_MODULE names it: beside `file`, which is the program or the
// module of Python's package, and in the library folders of the folders above, one of which is the prefix of
// an installation.
std::vector<std::filesystem::path> CudaModulePaths(const std::filesystem::path& file);

// How many GPUs the driver shows (CUDA_VISIBLE_DEVICES respected), without loading the module; 0 with the
// reason in one line.
int CountVisibleGpus(std::string* reason);

// The UUID of one that CountVisibleGpus counts, of a part of a GPU (MIG) its own; empty where the driver does
// not say.
std::string GpuUuid(int ordinal);

// For tests: the module that LoadCudaModule gives from now on; null: the real one. CountVisibleGpus then asks
// its api, and its GPUs have no UUID.
void SetCudaModuleForTesting(CudaModule* module);

// The module's entry point, `extern "C"`. The number must be kCudaModuleVersion, else it returns null.
inline constexpr int kCudaModuleVersion = 7;
inline constexpr char kCudaModuleEntry[] = "lanescope_cuda_module";
using CudaModuleEntry = CudaModule* (*)(int version);

}  // namespace lanescope::exec::cuda
