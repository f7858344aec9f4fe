// SPDX-License-Identifier: Apache-2.0
// A graph with something of its queues changed, as `--queue` says it.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"

namespace lanescope::study {

// "examples.threads=4" (that fill it), "examples.capacity=500", "examples.batch=64" (elements that are taken
// from it at once). Throws NotFound for a queue that the graph lacks, InvalidArgument for what cannot be.
void ApplyQueueChange(std::string_view change, Graph* graph, RunSpec* spec);
// Before anything is read: empty where the text has the right form, else what is wrong.
std::string CheckQueueChange(const std::string& change);

}  // namespace lanescope::study
