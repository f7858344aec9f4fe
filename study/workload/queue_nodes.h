// SPDX-License-Identifier: Apache-2.0
// The queues of a graph, as its nodes use them. Internal to study.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace lanescope::study {

// Whether the node makes a queue of tensors.
bool MakesQueue(const Node& node);
// The node that makes the queue whose handle `input` is; none where it is no such handle.
NodeId QueueOfHandle(const Graph& graph, Endpoint input);
// That of the node's first input.
NodeId QueueUsedBy(const Graph& graph, const Node& node);
// Its shared name, else the node's.
std::string QueueName(const Node& queue);
// The node that is called so: by that name, by its own or by the last part of that. Throws NotFound naming
// the queues there are.
NodeId FindQueue(const Graph& graph, const std::string& name);

// The use that a node of the op makes of the queue of its first input.
bool TakesOne(const Node& node);   // QueueDequeue
bool TakesMany(const Node& node);  // QueueDequeueMany, QueueDequeueUpTo: input 1 says how many
bool PutsOne(const Node& node);
bool PutsMany(const Node& node);
bool LooksOnly(const Node& node);  // QueueSize, QueueIsClosed

}  // namespace lanescope::study
