// SPDX-License-Identifier: Apache-2.0
#include "traces/record/activity_rows.h"

#include "traces/store/capture_times.h"

namespace lanescope::traces {

std::string_view LossName(Loss loss) {
  switch (loss) {
    case Loss::kDropped:
      return "records dropped by the driver for lack of a buffer";
    case Loss::kRefusedBuffers:
      return "requests for a buffer when none was free";
    case Loss::kZeroTimes:
      return "records without times";
    case Loss::kReversedTimes:
      return "records with impossible times";
    case Loss::kMalformed:
      return "malformed records";
    case Loss::kUnreadableNames:
      return "unreadable names";
    case Loss::kUnbalancedRanges:
      return "ends of ranges without a start";
    case Loss::kNotSent:
      return "rows that a process could not hand over";
    case Loss::kLaunchWithoutKernel:
      return kLaunchesWithoutKernel;
    case Loss::kUnfinished:
      return "processes that ended without handing over their last records";
    case Loss::kRefusedProcesses:
      return "processes beyond those that can be captured at once";
  }
  return "unknown";
}

}  // namespace lanescope::traces
