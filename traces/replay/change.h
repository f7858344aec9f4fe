// SPDX-License-Identifier: Apache-2.0
// Changes to a trace's tasks. Internal to traces and gui.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/replay/gpu_ratios.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// Returns how many tasks or collectives it concerns. The forms are those of FindWhatIf; throws what that
// throws.
// `spread`: of changes by ratios that spread, what is asked for.
int64_t ApplyChange(std::string_view change, ReplayGraph* graph,
                    RatioQuantile spread = RatioQuantile::kMiddle);

// From the moment when all GPUs were at a collective to the next one, a GPU that took longer than half of
// them takes as long as the slowest of that half: all that it and its threads did is shorter by one factor.
void RemoveStragglers(ReplayGraph* graph);

// Copies chosen by task take no time, nor do their calls; or nothing but synchronising calls waits for what
// is chosen.
void RemoveCopies(const std::vector<char>& copies, ReplayGraph* graph);
void OverlapTasks(const std::vector<char>& chosen, ReplayGraph* graph);

// By task, whether it was launched in a range of such a name, of its launching thread.
std::vector<char> InRange(std::string_view glob, const ReplayGraph& graph);
// Moves the chosen tasks to the stream of this number, behind what was on its own before it; nothing of its
// own waits for it.
void MoveToStream(const std::vector<char>& chosen, int64_t stream, ReplayGraph* graph);

// Sets what links between GPUs carry, or those between a GPU and the host. The fastest of a kind (of copies,
// of collectives) says what they carry in the trace; what others take beyond that stays. Returns how many
// copies and parts of collectives say how much they move.
int64_t SetLinkBandwidth(double bytes_per_second, bool of_host, ReplayGraph* graph);

// Makes one graph of what a process launches in a step between two of its waits: the host launches it and
// waits for it, and what else the threads that launched did in the step goes; operations keep their order on
// their streams and what they waited for. A step lasts from its launch. Returns the number of graphs.
int64_t CaptureSteps(ReplayGraph* graph);
// Whether the call launches a graph.
bool LaunchesGraph(const ReplayGraph& graph, const ReplayTask& call);
// Graphs as launches one by one, by a thread that does nothing else. Returns the number of graphs.
int64_t LaunchNodes(ReplayGraph* graph);

// Holds by task, to those there are. `graph` may have tasks without any yet, at the end.
void AddHolds(const std::vector<std::vector<ReplayHold>>& more, ReplayGraph* graph);
// Brings the tasks into an order in which each waits for those before it alone. Throws FailedPrecondition
// where there is none.
void OrderTasks(ReplayGraph* graph);

// The job on `ranks` GPUs, all of which have as much work as those of the trace (data parallel): collectives
// move messages of the same size, and so take longer by what BusFactor says of both numbers. For graphs of
// which WhyNotRanks says nothing.
void SetRanks(int64_t ranks, ReplayGraph* graph);

}  // namespace lanescope::traces
