// SPDX-License-Identifier: Apache-2.0
// Lanes of a run under what they belong to: rank or host, process, its threads. Part of run_builder.
#pragma once

#include <string>

#include "gui/model/run_data.h"

namespace lanescope::gui {

// Gives the lanes of a run their groups. Of one with several tasks each has one, with its devices and the
// links within it; a link between two is in the one whose devices do not carry out its copies, so that both
// show them. Of others without a graph there are groups where these tell something apart: ranks or hosts
// where there are several, processes where one of those has several, threads where there are devices beside
// them. Groups come in the order in which their lanes are to be sorted.
void GroupLanes(RunData* run);

// The name of a lane below the line of its group: "GPU:0 stream 7" of "rank 3 GPU:0 stream 7" in the group
// "rank 3". Of a link the end in another task is "worker:1/GPU:0".
std::string LabelInGroup(const RunData& run, const Lane& lane, std::string label);

}  // namespace lanescope::gui
