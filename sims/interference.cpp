#include "sims/interference.h"

#include <algorithm>

namespace lanescope::sims {

int InterferenceDomain(const DeviceSpec& device) {
  switch (device.kind) {
    case DeviceKind::kHost:
    case DeviceKind::kVirtual:
      return 0;
    case DeviceKind::kLogical:
      return device.physical >= 0 ? 1 + device.physical : -1;
    case DeviceKind::kCuda:
    case DeviceKind::kModelled:
      return -1;
  }
  return -1;
}

WorkClass ClassOf(const OpWork& work) {
  constexpr int64_t kFlopsPerByte = 4;
  return work.flops / kFlopsPerByte >= std::max<int64_t>(work.bytes, 1) ? WorkClass::kCompute
                                                                        : WorkClass::kMemory;
}

double DemandOf(WorkClass command_class, const OpWork& work, int64_t alone_ns,
                const InterferenceMatrix& matrix) {
  if (command_class != WorkClass::kMemory || matrix.bytes_per_second <= 0) return 1;
  if (alone_ns <= 0 || work.bytes <= 0) return 0;
  const double rate = 1e9 * static_cast<double>(work.bytes) / static_cast<double>(alone_ns);
  return std::min(1.0, rate / matrix.bytes_per_second);
}

DomainSlowdown::DomainSlowdown(const InterferenceMatrix& matrix, const DomainLoad& load) {
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    own_[victim] = matrix.slowdown[victim][victim] - 1;
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      excess_[victim] += load.demand[beside] * (matrix.slowdown[victim][beside] - 1);
  }
  if (matrix.cores <= 0) return;
  copy_share_ = std::max(1.0, load.cores / matrix.cores);
  const double copies = load.demand[static_cast<size_t>(WorkClass::kCopy)];
  launch_share_ = std::max(copy_share_, 1 + copies * matrix.copy_cores / matrix.cores);
}

double Slowdown(const InterferenceMatrix& matrix, const DomainLoad& load, WorkClass victim, double demand) {
  return DomainSlowdown(matrix, load).Of(victim, demand);
}

}  // namespace lanescope::sims
