#include "exec/gpu_machine.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units.h"
#include "exec/backend.h"

namespace lanescope::exec {
namespace {

// The one whose GPUs are used; null with the reason when none sees any.
Backend* BackendWithGpus(std::string* reason) {
  for (Backend* backend : Backends()) {
    if (backend->CountGpus(reason) > 0) return backend;
  }
  return nullptr;
}

Backend* LoadedBackend() {
  std::string reason;
  Backend* backend = BackendWithGpus(&reason);
  if (backend == nullptr || !backend->Load(&reason))
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: {}", reason);
  return backend;
}

}  // namespace

int64_t GpuMemoryLimit(int64_t free_bytes, int64_t total_bytes, const GpuMemoryOptions& options) {
  if (options.limit_bytes > 0 && options.fraction > 0) {
    Throw(Code::kInvalidArgument, "a memory limit and a memory fraction exclude each other; give one");
  }
  if (options.limit_bytes > 0) {
    if (options.limit_bytes > total_bytes) {
      Throw(Code::kInvalidArgument, "the memory limit of {} is more than the GPU's {}",
            FormatBytes(options.limit_bytes), FormatBytes(total_bytes));
    }
    return options.limit_bytes;
  }
  if (options.fraction > 0) {
    if (!(options.fraction <= 1)) {
      Throw(Code::kInvalidArgument, "a memory fraction of {} needs oversubscription; give 1 at most",
            options.fraction);
    }
    return static_cast<int64_t>(static_cast<double>(total_bytes) * options.fraction);
  }
  constexpr int64_t kMiB = int64_t{1} << 20;
  const int64_t reserve = free_bytes < 2048 * kMiB ? 200 * kMiB : std::max(300 * kMiB, free_bytes / 20);
  return std::max<int64_t>(kMiB, free_bytes - reserve);
}

int CountVisibleGpus(std::string* reason) {
  Backend* backend = BackendWithGpus(reason);
  return backend != nullptr ? backend->CountGpus(reason) : 0;
}

bool LoadGpuBackend(std::string* reason) {
  Backend* backend = BackendWithGpus(reason);
  return backend != nullptr && backend->Load(reason);
}

std::vector<int> UsableGpus(std::vector<std::string>* notes) { return LoadedBackend()->UsableGpus(notes); }

std::string GpuId(int ordinal) {
  std::string reason;
  Backend* backend = BackendWithGpus(&reason);
  const bool is_there = backend != nullptr && ordinal >= 0 && ordinal < backend->CountGpus(&reason);
  return is_there ? backend->IdOf(ordinal) : "";
}

Machine DescribeGpus(const std::vector<int>& ordinals, const GpuMemoryOptions& options) {
  return LoadedBackend()->Describe(ordinals, options);
}

Machine DetectGpus(const GpuMemoryOptions& options, std::vector<std::string>* notes) {
  return DescribeGpus(UsableGpus(notes), options);
}

bool HasPhysicalGpus(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.is_hardware(); });
}

}  // namespace lanescope::exec
