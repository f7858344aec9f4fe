// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a fused launch put results that nobody else reads. Internal to exec/run.
#pragma once

#include <vector>

#include "exec/run/fused_unit.h"

namespace lanescope::exec {

// Gives results that lie in no other memory their slots. One is free again after the last node that reads it.
void AssignSlots(std::vector<FusedMember>* members, FusedUnit* unit);

}  // namespace lanescope::exec
