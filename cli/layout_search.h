// SPDX-License-Identifier: Apache-2.0
// `search` of a graph that `make gpt` wrote: over layouts, not placements.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "sims/megatron/gpt_graph.h"

namespace lanescope::cli {

// Ranks all layouts over as many GPUs by the rules, simulates the best few and the graph's own on the machine
// if that has as many GPUs (null: it is not asked for), and writes the best as a graph where `output` is
// given.
void SearchGptLayouts(const std::string& graph, const sims::megatron::GptOrigin& origin,
                      const Machine* machine, const std::string& output, bool as_json);

}  // namespace lanescope::cli
