// SPDX-License-Identifier: Apache-2.0
// Numbers of captured rows as cells: what is unknown or absent becomes NULL. Internal to traces.
// Internal to traces.
#pragma once

#include <cstdint>

#include "traces/record/activity_rows.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {

inline Cell Known(uint32_t id) { return id == kNoId ? Cell() : Cell(id); }
inline Cell NonZero(uint64_t id) { return id == 0 ? Cell() : Cell(id); }

}  // namespace lanescope::traces
