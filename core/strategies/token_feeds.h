// SPDX-License-Identifier: Apache-2.0
// Which feeds of a step are sequences of tokens. Internal to core.
#pragma once

#include <map>
#include <string>

#include "core/graph/op.h"
#include "core/inputs/run_spec.h"
#include "core/strategies/layout.h"
#include "core/strategies/split_by.h"

namespace lanescope {

// The parts in which readers take the feeds of tokens. Feeds of integers of two and more axes have a token at
// each place of the second axis; where a step has none, feeds of floats of three axes do. Other feeds follow
// whose second axis is as long as one of these. Throws InvalidArgument where there are none, and where their
// tokens do not divide, with the nearest number that does.
// What is cut of a feed along its rows alone, as replicas and micro-batches are, is in parts as it is.
// `parts`: tensors that are parts of feeds already, with the name of the feed: they stand for the feeds.
std::map<NodeId, Layout> TokenFeeds(const Graph& graph, const RunSpec& spec, const GraphInfo& info,
                                    int64_t devices, SplitBy by,
                                    const std::map<NodeId, std::string>* parts = nullptr);

}  // namespace lanescope
