// How a graph with loops, branches and lists is copied without them. Internal to core/place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/place/function_graphs.h"
#include "core/place/functions.h"
#include "core/place/growing_graph.h"
#include "core/place/tensor_lists.h"

namespace lanescope {

inline bool IsLoop(std::string_view op) { return op == "While" || op == "StatelessWhile"; }
inline bool IsBranch(std::string_view op) { return op == "If" || op == "StatelessIf"; }

// A condition and which side of it a node is on.
struct Side {
  Endpoint condition;
  bool yes = false;
  friend bool operator==(const Side&, const Side&) = default;
};
using Sides = std::vector<Side>;

// What a body's nodes have become.
struct Emitted {
  explicit Emitted(const GraphBody& body)
      : values(static_cast<size_t>(body.graph.num_nodes())),
        after(values.size()),
        sides(values.size()),
        conditions(values.size()),
        dead(values.size(), false) {}

  std::vector<ExpandedValues> values;   // by node and output
  std::vector<std::vector<int>> after;  // nodes that one waits for who waits for this node
  std::vector<Sides> sides;             // of the branches that a node is in
  std::vector<Endpoint> conditions;     // of a Switch that data decide
  std::vector<bool> dead;               // on the side of a branch that is not taken

  const ExpandedValue& at(Endpoint endpoint) const {
    return values[static_cast<size_t>(endpoint.node)][static_cast<size_t>(endpoint.output)];
  }
};

// Where a body is copied to.
struct Site {
  std::string prefix;         // of the names; empty: the graph itself
  std::vector<int> controls;  // what its first nodes wait for
};

// Copies node by node (control_flow.cpp); what data decide is copied for both answers and chosen from. For
// one graph; not thread-safe.
class ControlFlowExpander {
 public:
  ControlFlowExpander(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options)
      : before_(graph), functions_(*functions), options_(options), graph_(graph), lists_(&graph_) {}
  Graph Run();

 private:
  void NoteNeeded();
  // A node that no step needs stays as it is, where what it takes is still there.
  void Keep(const GraphBody& body, int id, Emitted* out);
  Emitted Emit(const GraphBody& body, const ExpandedValues& arguments, const Site& site);
  static bool IsArgument(const GraphBody& body, int id);

  void EmitNode(const GraphBody& body, int id, const Site& site, Emitted* out);
  static bool IsDead(const Endpoint& input, const Emitted& out);
  static bool IsDead(const Node& node, const Emitted& out);
  // The sides of branches that a tensor is on.
  static Sides SidesOf(const GraphBody& body, const Endpoint& input, const Emitted& out);
  static Sides SidesOf(const GraphBody& body, const Node& node, const Emitted& out);
  // What the node waits for: what its control inputs have become, and, of a body's first nodes, what the
  // body waits for.
  std::vector<int> ControlsOf(const GraphBody& body, const Node& node, const Site& site,
                              const Emitted& out) const;

  void Copy(const GraphBody& body, int id, const std::string& name, const Site& site,
            const ExpandedValues& inputs, std::vector<int> controls, Emitted* out);
  int AddCopy(const GraphBody& body, int id, Node copy);
  // A feed's shape is what users of the tensor see.
  void Feed(const std::string& tensor, const TensorInfo& info, int node);
  // What data choose between runs whatever they choose.
  static void CheckHasNoEffect(const std::string& name, Node* node);
  // Groups of a function's nodes are the copies' own.
  static void RenameGroups(const std::string& prefix, Node* node);

  void Replace(const GraphBody& body, int id, const std::string& name, const ExpandedValues& inputs,
               std::vector<int> controls, Emitted* out);
  // Who waits for a node on lists waits for its inputs.
  void AddWaits(const Node& node, const std::string& name, const ExpandedValues& inputs, const Emitted& out,
                std::vector<int>* controls);
  int Wait(const std::string& name, const std::string& device, const std::vector<int>& controls);
  void CheckTypes(const GraphBody& body, int id, const std::string& name, const ExpandedValues& values) const;
  DataType TypeOf(const ExpandedValue& value) const;
  void CheckType(const std::string& name, const ExpandedValue& value, DataType wanted) const;

  struct Body {
    ExpandedValues outputs;
    std::vector<int> effects;
  };
  Body EmitFunction(const GraphBody& function, const std::string& caller, const ExpandedValues& arguments,
                    const Site& site);
  // A condition's value, or nothing where data say it.
  std::optional<bool> Known(const std::string& name, const ExpandedValue& condition) const;

  // A loop's trips, one after the other.
  ExpandedValues Unroll(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<int>& controls, std::vector<int>* effects);
  // A step in which the loop wants to go on fails.
  void RequireEnd(const Node& node, const std::string& name, Endpoint condition, int64_t trips,
                  std::vector<int>* effects);

  ExpandedValues Branch(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<int>& controls, std::vector<int>* effects);
  // The node that keeps the name of a loop or branch.
  int Finish(const Node& node, const std::string& name, const ExpandedValues& values,
             const std::vector<int>& controls);
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
  std::vector<bool> needed_;
  int64_t trips_ = 0;
  int nesting_ = 0;
  int speculative_ = 0;  // how many conditions that data decide stand around
};

}  // namespace lanescope
