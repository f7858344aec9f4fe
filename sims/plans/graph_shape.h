// SPDX-License-Identifier: Apache-2.0
// A model's shape from its graph: by its variables, and the heads of its attention.
#pragma once

#include <string>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "sims/plans/model_shape.h"

namespace lanescope::sims::plans {

// The graph is a transformer's whose layers are equal and stand under numbered scopes ("h/3/"): an embedding
// that is gathered, in each layer the matrices of attention and of a feed-forward network. Layers with
// experts may follow layers without: each of their matrices is one [experts, ...] for all of a layer, and a
// TopKV2 says how many of them a token passes. `info`: with the step's feeds. Throws InvalidArgument, with
// `where` and what is missing, for other graphs.
ModelShape ShapeOfGraph(const Graph& graph, const GraphInfo& info, const std::string& where);

}  // namespace lanescope::sims::plans
