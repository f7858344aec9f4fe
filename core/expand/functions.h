// SPDX-License-Identifier: Apache-2.0
// Calls of a graph's functions, loops, branches and collectives, replaced by what they do: nothing after this
// knows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/collective/collectives.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

// Facts of a step that are known before its graph is expanded.
struct InlineOptions {
  std::map<std::string, TensorInfo> feeds = {};  // by tensor: dtype and shape of what is fed
  std::map<std::string, int64_t> trips = {};     // by loop: how often its body runs at most
  // These are how often it runs, whatever the conditions say: for a step that is simulated, not run.
  bool exact_trips = false;
  // Tensors and nodes that a step asks for: loops and branches that none of them needs stay. Empty: all.
  std::vector<std::string> needed = {};
  CollectiveOptions collectives = {};
  // Not null: gets the loops whose end data decide, those inside of others too.
  std::vector<std::string>* counted = nullptr;
};

// The graph without calls (PartitionedCall, StatefulPartitionedCall, and ops named as a function of the
// graph's library), loops (While), branches (If, Case; Switch and Merge), optionals, and lists, arrays and
// stacks of tensors (TensorList*, TensorArray*V3, Stack*V2), however deep they are nested. The nodes of a
// call's function are called "CALL/NODE" and are on the call's device where they ask for none; users of the
// call's outputs take them from the nodes that make them. A node with the call's name stays: it runs after
// all that the function does for its effect.
//
// A loop is unrolled: the nodes of its trip k are called "LOOP/k/NODE". Where the condition follows from
// shapes, that says how often. Where it does not, the loop is unrolled as often as `trips` says, or until its
// condition says no whatever the data, and the results are those of the trip where the condition said no; a
// loop that wants to go on then fails. How often the body of such a loop ran is a tensor: "LOOP/trips". A
// branch whose condition is known is the branch taken; of others both sides run and the results are chosen.
// A branch that data choose must have no effects; its assertions hold unless it is taken. A list, an
// array or a stack of tensors is its elements: none is left. A list to which trips append that data may leave
// out has as many elements as data say: its last one can be taken, as gradients of loops do. What a loop
// writes to an array in a trip that data may leave out is chosen like a result; a stack cannot be changed
// there.
//
// A collective (NcclAllReduce nodes of one shared name, one a device; CollectiveReduce, CollectiveGather,
// CollectiveReduceScatterV2, CollectiveBcastSend and CollectiveBcastRecv, also V2, of one group and instance
// key; NcclReduce, NcclBroadcast) is copies, sums and joins: as the attribute "_lanescope_all_reduce" or
// "_lanescope_collective" of its first node says ("ring", "tree", "one-device", of all-reduces
// "hierarchical"; "nccl" is a joint launch where CollectiveOptions allows one), else as
// costs least on the machine of CollectiveOptions, if its nodes ask for devices of that; else around a ring,
// or up and down a tree where tensors are small or of unknown shape and where devices are more than 64.
// Devices are numbered in the order of the graph. Its nodes stay as what gives the result.
//
// Partitions of a graph that TensorFlow has cut (_Send and _Recv, _Arg and _Retval) are one graph again:
// where both ends of a transfer are here, a receive is an Identity of what is sent, on its own device.
//
// Throws InvalidArgument for a function that is not there, that calls itself, or that does not fit its call,
// and for more than half a million nodes, or for a collective without all of its devices; Unimplemented for a
// loop without an end in sight, effects that depend on data, and lists of unknown length.
Graph InlineFunctions(const Graph& graph, const InlineOptions& options = {});
// Inlines calls alone: loops and branches stay.
Graph InlineCalls(const Graph& graph);

}  // namespace lanescope
