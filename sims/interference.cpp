#include "sims/interference.h"

#include <algorithm>

namespace lanescope {

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

CommandClass ClassOf(const OpWork& work) {
  constexpr int64_t kFlopsPerByte = 4;
  return work.flops / kFlopsPerByte >= std::max<int64_t>(work.bytes, 1) ? CommandClass::kCompute
                                                                        : CommandClass::kMemory;
}

double Slowdown(const InterferenceMatrix& matrix, const DomainLoad& load, CommandClass victim) {
  const auto row = static_cast<size_t>(victim);
  double factor = 1;
  for (size_t beside = 0; beside < kNumCommandClasses; ++beside) {
    const int others = load.active[beside] - (beside == row ? 1 : 0);
    factor += others * (matrix.slowdown[row][beside] - 1);
  }
  if (matrix.cores > 0) factor *= std::max(1.0, load.cores / matrix.cores);
  return factor;
}

}  // namespace lanescope
