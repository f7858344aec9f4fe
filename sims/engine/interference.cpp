#include "sims/engine/interference.h"

#include <algorithm>

#include "sims/engine/effect_constants.h"

namespace lanescope::sims {

InterferenceMatrix HostMatrix(const Interference& interference, int computer) {
  InterferenceMatrix matrix = interference.host;
  if (computer > 0) matrix.cores = interference.other_computers[static_cast<size_t>(computer) - 1].cores;
  return matrix;
}

int InterferenceDomain(const DeviceSpec& device) {
  if (IsOfHostThreads(device.kind)) return kHostDomain;
  return device.kind == DeviceKind::kLogical && device.physical >= 0 ? 1 + device.physical : -1;
}

WorkClass ClassOf(const OpWork& work) {
  return work.flops / kEffectConstants.flops_per_byte >= std::max<int64_t>(work.bytes, 1)
             ? WorkClass::kCompute
             : WorkClass::kMemory;
}

DomainSlowdown::DomainSlowdown(const InterferenceMatrix& matrix, const DomainLoad& load) {
  const double asked = matrix.cores > 0 ? load.cores / matrix.cores : 0;
  const double met = matrix.cores > 0 ? load.restless / matrix.cores : 0;
  messenger_ = matrix.cores > 0 ? std::max(1.0, 1 + (load.cores - 1) / matrix.cores) : 1;
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    double excess = 1 - matrix.slowdown[victim][victim];  // the victim itself counts in the load
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      excess += load.active[beside] * (matrix.slowdown[victim][beside] - 1);
    const bool copy = static_cast<WorkClass>(victim) == WorkClass::kCopy;
    slowdown_[victim] = (1 + std::max(0.0, excess)) * std::max({1.0, asked, copy ? 0 : 1 + met});
  }
}

}  // namespace lanescope::sims
