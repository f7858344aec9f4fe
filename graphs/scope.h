// SPDX-License-Identifier: Apache-2.0
// Where graphs are written: a Scope owns a growing graph and says of every node that is added where it goes
// and what it is called. Scopes of devices, names and the like last as long as the guard that opens them:
//
//   Scope s;
//   {
//     auto gpu = s.Device("/gpu:0");
//     auto tower = s.Name("tower");
//     y = op::MatMul(s, x, w, {.transpose_b = true});   // node "tower/MatMul" on "/device:GPU:0"
//   }
//
// The rules of nesting are TensorFlow's: of devices the inner scope wins field by field and the outer one
// fills what is left; a function of the node replaces what inner scopes said; NoDevice() keeps outer scopes
// out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expand/function_body.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/inputs/run_spec.h"
#include "graphs/device_spec.h"
#include "graphs/input.h"
#include "graphs/variable.h"

namespace lanescope::graphs {

class Scope;

// Keeps a scope open until it goes. Scopes close in the reverse order of opening, as blocks do by themselves.
class [[nodiscard]] ScopeGuard {
 public:
  ScopeGuard(ScopeGuard&& other) noexcept : scope_(std::exchange(other.scope_, nullptr)), id_(other.id_) {}
  ScopeGuard& operator=(ScopeGuard&&) = delete;
  // A scope that is not the innermost one closes too; the next node that is added then throws what Exit would
  // have.
  ~ScopeGuard();
  // Closes the scope now. Throws FailedPrecondition while scopes that were opened later are still open.
  void Exit();

 private:
  friend class Scope;
  ScopeGuard(Scope* scope, int id) : scope_(scope), id_(id) {}

  Scope* scope_;
  int id_;
};

// The device of a node that is being added: it has op, name, attributes, and the device of inner scopes so
// far. What comes back replaces it; "" is no device.
using DeviceFunction = std::function<std::string(const Node&)>;

// Whether variables of a variable scope are new ones.
enum class Reuse {
  kInherit,  // as the scope around
  kYes,      // they exist already
  kAuto,     // they are made where they do not exist
};

// Not thread-safe. A Scope stays where it is: guards and variables refer to it.
class Scope {
 public:
  Scope();
  // Goes on with a graph. Its variables are those that have a "NAME/Assign" and a "NAME/read" (behind a
  // handle: a "NAME/Read/ReadVariableOp"), all trainable.
  explicit Scope(Graph graph);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Scopes. Device throws what DeviceSpec::Parse throws; "" changes nothing.
  ScopeGuard Device(std::string_view spec) { return Device(DeviceSpec::Parse(spec)); }
  ScopeGuard Device(const char* spec) { return Device(std::string_view(spec)); }
  ScopeGuard Device(const DeviceSpec& spec);
  ScopeGuard Device(DeviceFunction function);
  ScopeGuard NoDevice();
  // Names begin with "name/", or "name_1/" where that is taken; a name that ends with '/' is taken as it is,
  // and "" is the root. Throws InvalidArgument for an impossible name.
  ScopeGuard Name(std::string_view name);
  // On the device of `op`, whatever the device scopes say, and in its colocation group; with those of outer
  // scopes of this kind unless `ignore_existing`.
  ScopeGuard ColocateWith(Endpoint op, bool ignore_existing = false);
  ScopeGuard NoColocation();
  // After these nodes, and those of outer scopes of this kind. A node does not wait for those of a scope in
  // which one of its inputs was added; what an outer scope names already is that one's alone.
  ScopeGuard ControlDependencies(const std::vector<Endpoint>& ops);
  ScopeGuard NoControlDependencies();
  // Variables are called "name/..." and so are nodes (made unique as by Name).
  ScopeGuard VariableScope(std::string_view name, Reuse reuse = Reuse::kInherit);
  // The variable scope that is open, with `reuse`.
  ScopeGuard ReuseVariables(bool reuse = true);
  // Variables are copies of those of replica 0: called "NAME/replica_i", with the first value of NAME.
  ScopeGuard Replica(int replica);

  // Adds a node. `arguments` in the order of the op's definition, one list each; attributes that follow from
  // the inputs, or have defaults, need not be given. Numbers become constants named after the argument below
  // the node. Returns output 0 (of a node without outputs: output -1, for ControlDependencies). Throws
  // InvalidArgument for an op without a definition, and what NodeBuilder and the op's inference throw;
  // nothing but such constants is added then.
  Endpoint Add(std::string_view op, std::string_view name, std::vector<InputList> arguments,
               std::vector<std::pair<std::string_view, AttrValue>> attrs = {});

  // Adds a node of any op as it is, under its name made unique, with what its scopes say of devices and the
  // like. Of an op without a definition the signature that is recorded from TensorFlow says the outputs'
  // types, and "_output_shapes" their shapes. Throws what Add throws.
  Endpoint AddNode(Node node);
  // Puts another node in a node's place: the same with other attributes, more inputs or more outputs. What is
  // known of its outputs stays. For gradients, which ask their op for what it computes on the way.
  void Replace(NodeId id, Node node);
  // Adds a function to the graph's library (core/expand/function_body.h).
  AttrValue AddFunction(const FunctionBody& body, const std::string& name);
  void AddFunctions(const Graph& from);

  // The first seed of random ops that have a seed of their own, which is their second.
  void SetRandomSeed(int64_t seed) { random_seed_ = seed; }
  int64_t random_seed() const { return random_seed_; }

  // A constant called `name` (made unique).
  Endpoint Constant(const Tensor& value, std::string_view name = "Const");
  template <typename T>
  Endpoint Scalar(T value, std::string_view name = "Const") {
    return Constant(Tensor::Scalar(value), name);
  }

  // The facts known of an output: dtype, shape, and value where it is constant.
  const TensorInfo& Info(Endpoint output) const;
  const lanescope::Shape& ShapeOf(Endpoint output) const { return Info(output).shape; }
  DataType TypeOf(Endpoint output) const { return Info(output).dtype; }
  // Output `number` of the same node.
  static Endpoint Output(Endpoint node, int number) { return {node.node, number}; }
  // All outputs of the node.
  std::vector<Endpoint> Outputs(Endpoint node) const;
  // Gives the outputs by the results of the op, of which some are lists.
  std::vector<std::vector<Endpoint>> OutputLists(Endpoint node) const;
  // Adds what else is known of an output's shape. Throws InvalidArgument where it contradicts.
  void MergeShape(Endpoint output, const lanescope::Shape& shape);

  // "name", or the next free one, below the names that are open; it counts as used from then on.
  std::string UniqueName(std::string_view name);
  // The names that are open, with a '/' behind; as a node's name it is that name itself.
  const std::string& CurrentNames() const { return state_.names; }

  // The open variable scope's variable `name`: a new one, or with reuse the existing one. `shape` has to be
  // exact. The initial value is GlorotUniform's (floating point) or zeros where no initializer is given.
  // Throws AlreadyExists, NotFound or InvalidArgument where existence, shape or dtype are not as asked for.
  const Variable& GetVariable(std::string_view name, const lanescope::Shape& shape,
                              const VariableOptions& options = {});
  // A new variable, whatever the variable scope; its name is made unique.
  const Variable& NewVariable(const Input& initial_value, const NewVariableOptions& options = {});
  // Makes one with its first value by an initializer, called `name` from the root (made unique).
  const Variable& NewVariable(std::string_view name, const lanescope::Shape& shape,
                              const VariableOptions& options);
  // All, in the order in which they were made.
  const std::vector<const Variable*>& variables() const { return variable_order_; }
  // The variable that is read by, or is, this output; null where there is none.
  const Variable* FindVariable(Endpoint output) const;

  // The runners that fill the graph's queues (graphs/input_queues.h): for its run configuration.
  const std::vector<QueueRunnerSpec>& queue_runners() const { return queue_runners_; }
  void KeepQueueRunner(QueueRunnerSpec runner) { queue_runners_.push_back(std::move(runner)); }

  const Graph& graph() const { return graph_; }
  // Hands the graph over; the scope is empty afterwards.
  Graph Take();

 private:
  friend class ScopeGuard;

  // One open device scope; without function or spec: NoDevice.
  struct DeviceScope {
    std::optional<DeviceSpec> spec;
    DeviceFunction function;
  };
  // One open scope of control dependencies, and which nodes were added in it.
  struct Controller {
    std::vector<NodeId> sources;
    std::set<NodeId> members;
  };
  struct Variables {
    std::string name;  // with a '/' behind, or empty
    Reuse reuse = Reuse::kInherit;
    int replica = 0;
  };
  struct State {
    std::vector<DeviceScope> devices;
    std::vector<NodeId> colocation;
    std::vector<std::shared_ptr<Controller>> controllers;
    std::string names;  // with a '/' behind, or empty
    Variables variables;
    std::vector<std::string> groups;  // of nodes that are to live with one that is not there yet
  };
  struct Frame {
    int id;
    const char* kind;
    State before;
  };

  ScopeGuard Open(const char* kind, State next);
  void Close(int id);
  void CloseBroken(int id) noexcept;
  std::string NamesBelow(std::string_view name);
  void CheckNesting() const;
  std::string DeviceOf(Node node) const;
  std::vector<NodeId> ControlsFor(const Node& node) const;
  std::vector<std::string> GroupsOf(NodeId node) const;
  void Colocate(Node* node) const;
  Endpoint AddComplete(Node node);
  std::vector<std::vector<Endpoint>> ToEndpoints(const OpDef& def, const std::string& full_name,
                                                 const std::vector<InputList>& arguments,
                                                 const AttrMap& attrs);
  Endpoint FirstValue(const std::string& name, const lanescope::Shape& shape, const VariableOptions& options);
  const Variable& MakeShared(const std::string& full_name, const lanescope::Shape& shape,
                             const VariableOptions& options);
  ScopeGuard InGroupOf(const std::string& variable);
  const Variable& AddVariable(const std::string& name, Endpoint initial_value, bool in_own_group,
                              bool trainable);
  const Variable& AddHandle(const std::string& name, Endpoint initial_value, bool trainable);
  const Variable& Keep(Variable variable);
  void MarkUsed(std::string_view name);
  void FindVariables();

  Graph graph_;
  IdVector<NodeId, std::vector<TensorInfo>> infos_;  // by node, by output
  State state_;
  std::vector<Frame> frames_;
  int next_id_ = 0;
  std::vector<QueueRunnerSpec> queue_runners_;
  int64_t random_seed_ = 87654321;  // TensorFlow's where a graph has none
  std::string nesting_problem_;
  std::map<std::string, int, std::less<>> names_in_use_;  // in lower case; with how many more were made of it
  std::vector<std::unique_ptr<Variable>> variables_;
  std::vector<const Variable*> variable_order_;
  std::map<std::string, const Variable*, std::less<>> shared_variables_;  // those that GetVariable gives
};

}  // namespace lanescope::graphs
