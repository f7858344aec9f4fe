// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/interference.h"

#include <algorithm>
#include <cmath>

#include "core/graph/work_pieces.h"
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

int PiecesOf(const OpWork& work, const DeviceSpec& device) {
  const auto all = static_cast<int>(kEffectConstants.gpu_pieces);
  const bool part = device.sm_share > 0 && ClassOf(work) == WorkClass::kCompute;
  return WorkersFor(work, part ? static_cast<int>(std::lround(device.sm_share * all)) : all);
}

DomainSlowdown::DomainSlowdown(const InterferenceMatrix& matrix, const DomainLoad& load) {
  matrix.pieces > 0 ? OfGpu(matrix, load) : OfHost(matrix, load);
}

void DomainSlowdown::OfGpu(const InterferenceMatrix& matrix, const DomainLoad& load) {
  const double asked = std::max(load.cores, 1.0);
  const double crowd = std::max(0.0, asked / matrix.pieces - 1);
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    const bool copy = static_cast<WorkClass>(victim) == WorkClass::kCopy;
    const auto excess = [&](size_t beside) { return matrix.slowdown[victim][beside] - 1; };
    double of_launches = 0;
    for (const WorkClass beside : {WorkClass::kCompute, WorkClass::kMemory})
      of_launches += load.asked[static_cast<size_t>(beside)] / asked * excess(static_cast<size_t>(beside));
    constexpr auto kCopy = static_cast<size_t>(WorkClass::kCopy);
    const int copies = load.active[kCopy] - (copy ? 1 : 0);  // the victim itself counts in the load
    slowdown_[victim] =
        1 + (copy ? std::min(1.0, crowd + 1) : crowd) * of_launches + std::max(0, copies) * excess(kCopy);
  }
}

void DomainSlowdown::OfHost(const InterferenceMatrix& matrix, const DomainLoad& load) {
  const double asked = matrix.cores > 0 ? load.cores / matrix.cores : 0;
  const double met = matrix.cores > 0 ? load.restless / matrix.cores : 0;
  progress_thread_ = matrix.cores > 0 ? std::max(1.0, 1 + (load.cores - 1) / matrix.cores) : 1;
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    double excess = 1 - matrix.slowdown[victim][victim];  // the victim itself counts in the load
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      excess += load.active[beside] * (matrix.slowdown[victim][beside] - 1);
    const bool copy = static_cast<WorkClass>(victim) == WorkClass::kCopy;
    slowdown_[victim] = (1 + std::max(0.0, excess)) * std::max({1.0, asked, copy ? 0 : 1 + met});
  }
}

}  // namespace lanescope::sims
