// SPDX-License-Identifier: Apache-2.0
// Checks a graph against the op registry before anything is done with it.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

// Notes in graph->problems what is wrong with single nodes: an input of the wrong dtype, wrong number of
// inputs, a missing, unknown-valued or out-of-range attribute, absurd sizes. Ops without a definition pass.
// Throws what concerns the whole graph: InvalidArgument for an input that names no node or no output and for
// a cycle, Unimplemented for a loop (Enter, Exit, NextIteration ...).
void NoteProblems(Graph* graph);

// Throws what NoteProblems throws, and the problem of the first node that has one.
void ValidateGraph(const Graph& graph);

// Throws InvalidArgument for an attribute of the node that is not of the kind, or not one of the values, that
// the op's definition allows. Says nothing of those that are missing.
void CheckAttrValues(const Node& node, const OpDef& def);

}  // namespace lanescope
