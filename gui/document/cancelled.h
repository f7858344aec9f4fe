// SPDX-License-Identifier: Apache-2.0
// A request of a LatestWorker that a later one has taken the place of. Internal to gui/document.
#pragma once

#include <atomic>
#include <string_view>

#include "core/base/error.h"

namespace lanescope::gui {

// Throws Cancelled once `cancelled` is set; `what` is what was asked for, "the simulation".
inline void CheckCancelled(const std::atomic<bool>& cancelled, std::string_view what) {
  if (cancelled.load(std::memory_order_relaxed)) Throw(Code::kCancelled, "{} is out of date", what);
}

}  // namespace lanescope::gui
