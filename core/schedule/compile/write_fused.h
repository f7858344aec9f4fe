// SPDX-License-Identifier: Apache-2.0
// Makes one command of every group, and forgets the values that only its own nodes read. Private to the pass
// Fuse.
#pragma once

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/fusion_groups.h"

namespace lanescope::compile {

// Commands and values get new numbers.
void WriteFused(Draft* draft, const FusionGroups& groups);

}  // namespace lanescope::compile
