// SPDX-License-Identifier: Apache-2.0
// Reads the nodes of an ONNX model, with those of its functions and of the bodies of its branches and loops.
// Internal to core.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/inputs/onnx/dimensions.h"
#include "core/inputs/onnx/emitter.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {

// Not thread-safe. Refers to everything that it is given.
class OnnxNodeReader {
 public:
  OnnxNodeReader(const onnx::ModelProto& model, const std::string& folder, const OnnxDimensions& sizes,
                 OnnxEmitter* to);

  // Whether a name is that of a weight of the model's graph.
  bool IsWeight(const std::string& name) const { return scope_->weights.contains(name); }
  void Define(const std::string& name, OnnxValue value) { scope_->values[name] = std::move(value); }
  void ReadNodes();
  // The value of a name in the scope that is read now. Throws InvalidArgument for an unknown name.
  OnnxValue ValueOf(const std::string& name);

  // The emitter, for rules of branches and loops.
  OnnxEmitter& to() { return *to_; }
  // Results of a body from these values; it knows the names around it. `label`: the prefix of
  // its nodes' names.
  OnnxValues Body(const onnx::GraphProto& body, const OnnxValues& inputs, const std::string& label);

 private:
  struct Scope {
    Scope* outer = nullptr;
    std::string label;
    int64_t opset = 1;
    std::unordered_map<std::string, OnnxValue> values;
    std::unordered_map<std::string, const onnx::TensorProto*> weights;
    std::unordered_map<std::string, const onnx::TensorType*> types;
  };

  static void AddNames(const onnx::GraphProto& graph, Scope* scope);
  // Reads nodes in a scope and hands out what they make under these names.
  template <typename Outputs>
  OnnxValues ReadIn(Scope* scope, const std::vector<const onnx::NodeProto*>& nodes, const Outputs& outputs);
  void AddNode(const onnx::NodeProto& proto);
  // Makes a weight or a Constant once: bodies and functions share it, however often they are read.
  template <typename Proto, typename Make>
  OnnxValue Shared(const Proto& proto, const Make& make);
  OnnxValues ResultsOf(const onnx::NodeProto& proto, const OnnxValues& inputs, const std::string& name);
  OnnxValues Call(const onnx::FunctionProto& function, const onnx::NodeProto& call, const OnnxValues& inputs,
                  const std::string& name);
  OnnxValues ByRule(const onnx::NodeProto& proto, const OnnxNode& node, const OnnxValues& inputs);
  OnnxValues ByCost(const onnx::NodeProto& proto, const OnnxValues& inputs, std::optional<double> flops);
  std::vector<TensorInfo> DeclaredOutputs(const onnx::NodeProto& proto, const OnnxValues& inputs) const;
  // The values around a node's bodies that they read.
  OnnxValues Captured(const onnx::NodeProto& proto);
  const onnx::TensorType* TypeOf(const std::string& name) const;

  const onnx::GraphProto& graph_;
  const std::string& folder_;
  const OnnxDimensions& sizes_;
  OnnxEmitter* to_;
  std::map<std::string, const onnx::FunctionProto*> functions_;  // by domain, name and overload
  std::unordered_map<const void*, OnnxValue> shared_;            // by message
  std::deque<onnx::NodeProto> resolved_;                         // of functions, with attributes of calls
  size_t resolved_bytes_ = 0;
  Scope whole_;
  Scope* scope_ = &whole_;
  int depth_ = 0;         // of bodies and functions within each other
  int64_t expanded_ = 0;  // nodes of them so far
  bool failed_ = false;   // an error is on its way and says of which node it is
};

}  // namespace lanescope
