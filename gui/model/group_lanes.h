// Lanes of a run under what they belong to: rank or host, process, its threads. Part of run_builder.
#pragma once

#include "gui/model/run_data.h"

namespace lanescope::gui {

// Gives the lanes of a run without a graph their groups, where these tell something apart: ranks or hosts
// where there are several, processes where one of those has several, threads where there are devices beside
// them. Groups come in the order in which their lanes are to be sorted.
void GroupLanes(RunData* run);

}  // namespace lanescope::gui
