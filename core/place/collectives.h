// Collectives of a graph, replaced by the copies and sums that they are made of. Internal to core/place.
#pragma once

#include "core/graph/graph.h"
#include "core/place/functions.h"

namespace lanescope {

// By functions.h's rules; a graph without collectives comes out as it is.
Graph ExpandCollectives(Graph graph, const InlineOptions& options);

}  // namespace lanescope
