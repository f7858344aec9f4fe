// Changes to a trace's tasks. Internal to traces.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// Returns how many tasks or collectives it concerns. The forms are those of FindWhatIf; throws what that
// throws.
int64_t ApplyChange(std::string_view change, ReplayGraph* graph);

// From the moment when all GPUs were at a collective to the next one, a GPU that took longer than half of
// them takes as long as the slowest of that half: all that it and its threads did is shorter by one factor.
void RemoveStragglers(ReplayGraph* graph);

// "*" stands for any characters, "?" for one.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace lanescope::traces
