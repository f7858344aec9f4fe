// SPDX-License-Identifier: Apache-2.0
// How a graph with loops, branches and lists is copied without them. Internal to core/expand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/expand/function_graphs.h"
#include "core/expand/functions.h"
#include "core/expand/growing_graph.h"
#include "core/expand/tensor_arrays.h"
#include "core/expand/tensor_lists.h"

namespace lanescope {

inline bool IsLoop(std::string_view op) { return op == "While" || op == "StatelessWhile"; }
inline bool IsCase(std::string_view op) { return op == "Case" || op == "StatelessCase"; }
inline bool IsBranch(std::string_view op) { return op == "If" || op == "StatelessIf" || IsCase(op); }

// Switches of handles, and of variables that are no handles.
inline bool IsSwitch(std::string_view op) { return op == "Switch" || op == "RefSwitch"; }
inline bool IsMerge(std::string_view op) { return op == "Merge" || op == "RefMerge"; }

// A condition and which side of it a node is on.
struct Side {
  Endpoint condition;
  bool yes = false;
  friend bool operator==(const Side&, const Side&) = default;
};
using Sides = std::vector<Side>;

// Results of a body's nodes in the new graph.
struct Emitted {
  explicit Emitted(const GraphBody& body)
      : values(body.graph.num_nodes()),
        after(values.size()),
        sides(values.size()),
        conditions(values.size()),
        dead(values.size(), false) {}

  IdVector<NodeId, ExpandedValues> values;      // by node and output
  IdVector<NodeId, std::vector<NodeId>> after;  // nodes that one waits for who waits for this node
  IdVector<NodeId, Sides> sides;                // of the branches that a node is in
  IdVector<NodeId, Endpoint> conditions;        // of a Switch that data decide
  IdVector<NodeId, bool> dead;                  // on the side of a branch that is not taken

  const ExpandedValue& at(Endpoint endpoint) const {
    return values[endpoint.node][static_cast<size_t>(endpoint.output)];
  }
};

// Where a body is copied to.
struct Site {
  std::string prefix;            // of the names; empty: the graph itself
  std::vector<NodeId> controls;  // what its first nodes wait for
};

// Copies node by node (control_flow.cpp); what data decide is copied for both answers and chosen from. For
// one graph; not thread-safe.
class ControlFlowExpander {
 public:
  ControlFlowExpander(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options)
      : before_(graph),
        functions_(*functions),
        options_(options),
        graph_(graph),
        lists_(&graph_),
        arrays_(&graph_, &lists_) {}
  Graph Run();

 private:
  void NoteNeeded();
  // A node that no step needs stays as it is, where what it takes is still there.
  void Keep(const GraphBody& body, NodeId id, Emitted* out);
  Emitted Emit(const GraphBody& body, const ExpandedValues& arguments, const Site& site);
  static bool IsArgument(const GraphBody& body, NodeId id);

  void EmitNode(const GraphBody& body, NodeId id, const Site& site, Emitted* out);
  static bool IsDead(const Endpoint& input, const Emitted& out);
  static bool IsDead(const Node& node, const Emitted& out);
  // The sides of branches that a tensor is on.
  static Sides SidesOf(const GraphBody& body, const Endpoint& input, const Emitted& out);
  static Sides SidesOf(const GraphBody& body, const Node& node, const Emitted& out);
  // Whether what is written now runs, with sides of its own: nothing where it does whatever data say.
  std::optional<Endpoint> WhetherTaken(const Sides& own, const std::string& name, const std::string& device);
  void LeaveConditions(size_t left);
  // The one of two optionals between which data choose that belongs to the side that is being written.
  ExpandedValue OnThisSide(ExpandedValue optional, const Sides& own) const;
  // The nodes that a node waits for: its control inputs, and, for a body's first nodes, those that the
  // body waits for.
  std::vector<NodeId> ControlsOf(const GraphBody& body, const Node& node, const Site& site,
                                 const Emitted& out) const;

  void Copy(const GraphBody& body, NodeId id, const std::string& name, const Site& site,
            const ExpandedValues& inputs, std::vector<NodeId> controls, Emitted* out);
  NodeId AddCopy(const GraphBody& body, NodeId id, Node copy);
  // A feed's shape is what users of the tensor see.
  void Feed(const std::string& tensor, const TensorInfo& info, NodeId node);
  // Adds nothing unless it is taken: what data choose between runs whatever they choose. Throws Unimplemented
  // for updates of other kinds.
  void MaskUpdate(const std::string& name, const Sides& own, Node* update);
  // A value that leaves the variable as it is where it is added or subtracted.
  Endpoint Nothing(const std::string& name, const Node& update);
  // Says nothing unless it is taken.
  void AssertWhereTaken(const std::string& name, const Sides& own, Node* assertion);
  // Groups of a function's nodes are the copies' own.
  static void RenameGroups(const std::string& prefix, Node* node);

  void Replace(const GraphBody& body, NodeId id, const std::string& name, const ExpandedValues& inputs,
               std::vector<NodeId> controls, Emitted* out);
  // A node that waits for a node on lists waits for its inputs.
  void AddWaits(const Node& node, const std::string& name, const ExpandedValues& inputs, const Emitted& out,
                std::vector<NodeId>* controls);
  NodeId Wait(const std::string& name, const std::string& device, const std::vector<NodeId>& controls);
  void CheckTypes(const GraphBody& body, NodeId id, const std::string& name,
                  const ExpandedValues& values) const;
  DataType TypeOf(const ExpandedValue& value) const;
  void CheckType(const std::string& name, const ExpandedValue& value, DataType wanted) const;

  struct Body {
    ExpandedValues outputs;
    std::vector<NodeId> effects;
  };
  Body EmitFunction(const GraphBody& function, const std::string& caller, const ExpandedValues& arguments,
                    const Site& site);
  // A condition's value, or nothing where data say it.
  std::optional<bool> Known(const std::string& name, const ExpandedValue& condition) const;

  // A loop's trips, one after the other.
  ExpandedValues Unroll(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<NodeId>& controls, std::vector<NodeId>* effects);
  // Trips that run whatever data say, and conditions that data decide with the trips that each lets run.
  struct TripCount {
    int64_t known = 0;
    std::vector<std::pair<Endpoint, int64_t>> conditions;
  };
  void WriteTripCount(const std::string& name, const std::string& device, const TripCount& count);
  // A step in which the loop wants to go on fails.
  void RequireEnd(const Node& node, const std::string& name, Endpoint condition, int64_t trips,
                  std::vector<NodeId>* effects);

  ExpandedValues Branch(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<NodeId>& controls, std::vector<NodeId>* effects);
  ExpandedValues Case(const Node& node, const std::string& name, const ExpandedValues& inputs,
                      const std::vector<NodeId>& controls, std::vector<NodeId>* effects);
  struct BranchBody {
    const GraphBody* body;
    std::string prefix;  // of the names of its nodes
  };
  ExpandedValues Taken(const BranchBody& branch, const std::string& name, const ExpandedValues& arguments,
                       const std::vector<NodeId>& controls, std::vector<NodeId>* effects);
  // Results of the first branch whose condition holds, or else of the last, which has none: all of them run.
  ExpandedValues FirstThatHolds(const Node& node, const std::string& name,
                                const std::vector<BranchBody>& bodies,
                                const std::vector<Endpoint>& conditions, const ExpandedValues& arguments,
                                const std::vector<NodeId>& controls, std::vector<NodeId>* effects);
  // The node that keeps the name of a loop or branch.
  NodeId Finish(const Node& node, const std::string& name, const ExpandedValues& values,
                const std::vector<NodeId>& controls);
  // Both outputs are the input; what hangs on them is on a side of the condition.
  ExpandedValues Switch(const std::string& name, const ExpandedValues& inputs, Endpoint* condition) const;
  // The input whose side of the condition is taken, and its number.
  ExpandedValues Merge(const Node& node, const std::string& name, const GraphBody& body, Emitted* out,
                       Sides* sides);

  const Graph& before_;
  FunctionGraphs& functions_;
  const InlineOptions& options_;
  GrowingGraph graph_;
  ListExpander lists_;
  ArrayExpander arrays_;
  IdVector<NodeId, bool> needed_;
  int64_t trips_ = 0;
  int nesting_ = 0;
  Sides taken_;                      // conditions that data decide and that stand around
  std::vector<Endpoint> taken_all_;  // whether the first k + 1 of them hold, as far as somebody has asked
};

}  // namespace lanescope
