// SPDX-License-Identifier: Apache-2.0
// Remarks on a run that one should know before one believes its figures.
#pragma once

#include <string>

#include "gui/model/run_data.h"

namespace lanescope::gui {

// "oversubscribed, 3 of 8 steps disturbed, 12% uncalibrated, 4% extrapolated"; empty: nothing. Shares are of
// the time of a prediction's commands, from half a percent on.
std::string RemarksOf(const RunData& run);

}  // namespace lanescope::gui
