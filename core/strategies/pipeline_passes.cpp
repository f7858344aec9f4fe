// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/pipeline_passes.h"

#include <algorithm>

namespace lanescope {

int PassesAhead(PipelineSchedule schedule, int stage, int stages, int micro_batches) {
  return schedule == PipelineSchedule::kGPipe ? micro_batches : std::min(micro_batches, stages - stage);
}

std::vector<PipelinePass> PassesOf(PipelineSchedule schedule, int stage, int stages, int micro_batches) {
  const int ahead = PassesAhead(schedule, stage, stages, micro_batches);
  std::vector<PipelinePass> passes;
  for (int m = 0; m < ahead; ++m) passes.push_back({false, m});
  for (int m = 0; m < micro_batches; ++m) {
    passes.push_back({true, m});
    if (m + ahead < micro_batches) passes.push_back({false, m + ahead});
  }
  return passes;
}

}  // namespace lanescope
