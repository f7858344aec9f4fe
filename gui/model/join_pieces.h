// SPDX-License-Identifier: Apache-2.0
// The slices of a lane in the order of time. Part of run_builder.
#pragma once

#include "gui/model/run_builder.h"

namespace lanescope::gui {

// One piece with everything, by start, of equal starts the longer first. Empties `raw`. Throws
// ResourceExhausted for more slices than a lane can number.
RawLane::Piece JoinPieces(RawLane* raw);

}  // namespace lanescope::gui
