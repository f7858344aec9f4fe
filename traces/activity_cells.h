// Numbers of captured rows as cells: what is unknown or absent becomes NULL. Private to traces/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/activity_rows.h"
#include "traces/row_inserter.h"

namespace lanescope {

inline int64_t Signed(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }
inline Cell Known(uint32_t id) { return id == kNoId ? Cell() : Cell(int64_t{id}); }
inline Cell NonZero(uint64_t id) { return id == 0 ? Cell() : Cell(static_cast<int64_t>(id)); }

}  // namespace lanescope
