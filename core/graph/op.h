// SPDX-License-Identifier: Apache-2.0
// Definitions of all ops: signature, attributes, dtype rules, shape inference with partial values,
// cost, and how it treats memory and state. Kernels are elsewhere (exec/); which device types have kernels is
// a table (core/place/kernel_table.h).
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

// All that is known of one element of an integer or bool tensor before it is computed: it lies in [low,
// high].
struct ValueRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool exact() const { return low == high; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// A tensor as compiling knows it. `value` is set only where the value is constant (shape arithmetic); a
// bound never is.
struct TensorInfo {
  DataType dtype = DataType::kInvalid;  // never a reference type: a reference counts as what it refers to
  Shape shape = Shape::Unknown();
  std::shared_ptr<const Tensor> value;
  // For an integer tensor that is not constant: a range for each element of a small one (the shape of a
  // tensor with a bounded dimension), or a single one for all. Null where nothing is known. Sizes memory,
  // never folds.
  std::shared_ptr<const std::vector<ValueRange>> ranges;
  // For a handle: dtype and shape of the variable behind it. Null where they are unknown.
  std::shared_ptr<const TensorInfo> handle;
};

// Handed to an op's inference function. Not thread-safe; lives for one call.
class InferenceContext {
 public:
  InferenceContext(const Node& node, std::span<const TensorInfo> inputs, std::span<TensorInfo> outputs)
      : node_(node), inputs_(inputs), outputs_(outputs) {}

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const TensorInfo& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  const Shape& shape(int i) const { return input(i).shape; }
  // Output dtypes are set before the call, from the signature.
  TensorInfo& output(int i = 0) { return outputs_[static_cast<size_t>(i)]; }
  void SetShape(int output, const Shape& shape) { this->output(output).shape = shape; }
  // The constant value of an input, or null.
  const Tensor* value(int i) const { return input(i).value.get(); }
  // A constant integer tensor as a list; empty optional where it is not constant.
  std::optional<std::vector<int64_t>> IntValues(int i) const;
  // The only element of a constant integer input; empty where it is not constant.
  std::optional<int64_t> IntScalar(int i) const;
  // Throws InvalidArgument, naming node and input, for a known rank other than `rank`.
  void RequireRank(int i, int rank) const;

 private:
  const Node& node_;
  std::span<const TensorInfo> inputs_;
  std::span<TensorInfo> outputs_;
};

// Work and traffic of one launch: floating-point operations (2 per multiply-add) and bytes read plus written.
struct OpWork {
  int64_t flops = 0;
  int64_t bytes = 0;
};

struct ArgDef {
  std::string name;
  DataType type = DataType::kInvalid;  // fixed type, or
  std::string type_attr;               // an attribute that holds the type, or
  std::string type_list_attr;          // an attribute that holds a list of types (one tensor each)
  std::string number_attr;             // with type or type_attr: as many tensors as this attribute says
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  std::string type;  // "int", "float", "bool", "string", "type", "shape", "tensor", "list(int)", ...
  std::optional<AttrValue> fallback;
  std::vector<DataType> allowed_types;  // for type and list(type); empty: any
  std::vector<std::string> allowed_strings;
  std::optional<int64_t> minimum;  // of an int, or of a list's length
};

// How an op's first output relates to memory that exists already.
enum class AliasRule {
  kNone,
  kInput0,  // the output is input 0's buffer under another shape, and nothing runs (Identity, Reshape,
            // Squeeze, StopGradient ...)
};

// How an op takes part in the state of a session.
enum class StateRole {
  kNone,
  kVariable,  // VariableV2, VarHandleOp ...: yields a reference or a handle
  kRead,      // ReadVariableOp, ResourceGather: reads the variable of input 0
  kUpdate,    // writes the variables of the inputs in `updates`
  kTable,     // a lookup table, queue or other resource
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  bool stateful = false;   // never folded, never merged with an equal node
  bool host_only = false;  // strings, tables, files: by nature a host op
  bool metadata = false;   // Shape, ShapeN, Size, Rank: reads no element
  AliasRule alias = AliasRule::kNone;
  bool in_place = false;  // element-wise: output 0 may overwrite an input of the same size and type
  StateRole role = StateRole::kNone;
  std::vector<int> updates;  // flat input numbers of the variables written
  std::function<void(InferenceContext&)> infer;
  // Defaults: flops = elements of the outputs; bytes = all inputs and outputs.
  std::function<OpWork(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs)>
      work;

  const AttrDef* FindAttr(std::string_view attr) const;
};

// All ops known here. Built once, immutable afterwards, shared by all threads.
class OpRegistry {
 public:
  static const OpRegistry& Global();
  // Null for an unknown op.
  const OpDef* Find(std::string_view op) const;
  // The definition of the node's arguments: that of its op, or, for an op without one, the signature that
  // was recorded from TensorFlow (of the global registry, if the node's attributes and inputs fit it). Null
  // where nothing is known.
  const OpDef* SignatureOf(const Node& node) const;
  std::vector<std::string_view> Names() const;
  // Throws AlreadyExists. The definition stays where it is for the registry's life.
  OpDef& Register(OpDef def);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  std::unordered_map<std::string, std::unique_ptr<OpDef>, Hash, std::equal_to<>> ops_;
};

// Flat input and output dtypes of a node from its signature (references keep their +100). For an op without
// one the dtypes come from the attributes `T`, `dtype` or `_output_types`, one float output otherwise. Throws
// InvalidArgument on a missing or bad attribute of an op with a definition.
std::vector<DataType> InputTypes(const Node& node);
std::vector<DataType> OutputTypes(const Node& node);
// For who has the node's signature already (null where nothing is known).
std::vector<DataType> OutputTypes(const Node& node, const OpDef* signature);
int NumOutputs(const Node& node);
// Which outputs/inputs are references (by the definition).
bool IsRefInput(const Node& node, int input);

// Shapes, dtypes and constant values of every output of every node, given what feeds provide.
class GraphInfo {
 public:
  const TensorInfo& of(Endpoint endpoint) const {
    return infos_[static_cast<size_t>(first_[endpoint.node.index()] + endpoint.output)];
  }
  std::span<const TensorInfo> outputs(NodeId node) const {
    const auto begin = static_cast<size_t>(first_[node.index()]);
    return {infos_.data() + begin, static_cast<size_t>(first_[node.index() + 1]) - begin};
  }

 private:
  friend GraphInfo InferGraph(const Graph&, const std::vector<std::pair<Endpoint, TensorInfo>>&);
  std::vector<int> first_;
  std::vector<TensorInfo> infos_;
};
// `feeds` override the producer's output. Variables have their declared shape. A node of an op without a
// definition takes its shapes from
// `_output_shapes`. Throws InvalidArgument naming the node on a mismatch.
GraphInfo InferGraph(const Graph& graph, const std::vector<std::pair<Endpoint, TensorInfo>>& feeds);

// Work of one launch by the op's definition, or from `_lanescope_cost` ({"flops": n, "bytes": n}).
OpWork WorkOf(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs);
// Nanoseconds from `_lanescope_cost` ({"ns": {"GPU": n, "CPU": n}}) for a device type, if the node has them.
std::optional<int64_t> AttributedNs(const Node& node, std::string_view device_type);
// A collective that the node is this device's part of, by its attribute `_lanescope_cost`: where the machine
// is a cluster, that says how long it takes.
struct AttributedCollective {
  std::string kind, algorithm;  // as core/machine/collective.h names them; no algorithm: NCCL's choice
  int64_t bytes = 0;
  int64_t wait_ns = 0;        // before it begins
  std::array<int, 3> gpus{};  // first, count, stride
};
std::optional<AttributedCollective> CollectiveOf(const Node& node);
// Bytes of one tensor by its bound; 0 for handles, 0 where unknown, 2^56 at most. Strings count 32 bytes an
// element.
int64_t BytesOf(const TensorInfo& info);

}  // namespace lanescope
