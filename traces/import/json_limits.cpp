// SPDX-License-Identifier: Apache-2.0
#include "traces/import/json_limits.h"

#include "core/base/error.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

void JsonLimits::Read(int64_t bytes) {
  CheckImportGoesOn(cancelled_);
  since_event_ += bytes;
  if (since_event_ <= kMostEventBytes) return;
  Throw(Code::kInvalidArgument,
        "{} is damaged, or no trace: over {} MiB without the end of an event; record it anew", path_,
        kMostEventBytes >> 20);
}

void JsonLimits::Begin(int depth) {
  if (++values_ > kMostEventValues) {
    Throw(Code::kInvalidArgument,
          "{} is damaged, or no trace: over {} values without the end of an event; record it anew", path_,
          kMostEventValues);
  }
  if (depth < kDeepestJson) return;
  Throw(Code::kInvalidArgument,
        "{} is damaged, or no trace: its values lie over {} deep in each other; record it anew", path_,
        kDeepestJson);
}

}  // namespace lanescope::traces
