// SPDX-License-Identifier: Apache-2.0
// Reasons why no change of a trace can be predicted: what it does not say. Internal to traces.
#pragma once

#include <cstdint>
#include <string>

#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// Each the reason as a sentence without its full stop; empty: the trace says it.

// How long NCCL's kernels transfer: of those that one GPU alone has nobody knows. A few of them keep their
// time.
std::string WhyNoTransferTimes(const ReplayGraph& graph);
// Nobody waits where GPUs have no collectives in common, or parts of them are missing.
std::string WhyNoRankWaits(const ReplayGraph& graph);
// Says why what the host held up is unknown.
std::string WhyNoHostTimes(const ReplayGraph& graph);
// How collectives would take on `ranks` GPUs.
std::string WhyNotRanks(int64_t ranks, const ReplayGraph& graph);

}  // namespace lanescope::traces
