// SPDX-License-Identifier: Apache-2.0
// GraphDef files in and out: binary (.pb) and text (.pbtxt). Reading and writing without a change loses
// nothing, except that text has no way to say fields of a newer format and the payload of a NaN.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

// By extension: .pbtxt and .txt are text, everything else binary. Throws NotFound, InvalidArgument (malformed
// file, missing input, duplicate node), and what NoteProblems (core/graph/validate.h) throws, with which the
// result is checked: what is wrong with single nodes is said when a step needs them.
Graph ReadGraph(const std::string& path);
Graph ParseGraphText(std::string_view text);
Graph ParseGraphBinary(std::string_view bytes);

// Written to a temporary file beside `path` and renamed, so that a failure leaves the old file.
void WriteGraph(const Graph& graph, const std::string& path);
std::string GraphToText(const Graph& graph);
std::string GraphToBinary(const Graph& graph);

// Names of the functions in the graph's library. An op of such a name is a call.
std::vector<std::string> LibraryFunctions(const Graph& graph);

}  // namespace lanescope
