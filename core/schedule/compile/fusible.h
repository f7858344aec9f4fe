// SPDX-License-Identifier: Apache-2.0
// The role that a command can have in a launch of several nodes. Private to the pass Fuse.
#pragma once

#include "core/schedule/compile/draft.h"
#include "core/schedule/fusion.h"

namespace lanescope::compile {

constexpr int64_t kMaxRow = 65536;  // elements of a row that is reduced

// kNone for what the device can't run so (RunsFused), tensors whose shape is not exact, and operands that the
// blocks of a launch cannot find in the device's memory.
FusionRole RoleInLaunch(const Draft& draft, const Command& command);

}  // namespace lanescope::compile
