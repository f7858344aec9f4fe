// SPDX-License-Identifier: Apache-2.0
// Graphs named on the command line with strategies of their own: GRAPH:STRATEGY,...
#pragma once

#include <string>
#include <vector>

#include "study/compare/comparer.h"

namespace lanescope::cli {

// "graph.pbtxt:single,alternating" names its own strategies; a graph without takes `strategies`, or
// `annotated`. The graph ends at the first colon before which there is a file.
study::ComparedGraph ParseGraphChoice(const std::string& text, const std::vector<std::string>& strategies);

}  // namespace lanescope::cli
