// A node of an ONNX model with its attributes, and the rules that make nodes of ours of it. Internal to core.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/inputs/onnx/emitter.h"
#include "lanescope_onnx.pb.h"

namespace lanescope {

// Refers to the message. Attributes of another kind than the one asked for throw InvalidArgument.
class OnnxNode {
 public:
  OnnxNode(const onnx::NodeProto& proto, int64_t opset, const std::string& folder)
      : proto_(proto), opset_(opset), folder_(folder) {}

  const std::string& op() const { return proto_.op_type(); }
  int num_outputs() const { return proto_.output_size(); }
  // The version of ONNX's operators that the model is written in.
  int64_t opset() const { return opset_; }

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t fallback) const;
  float Float(std::string_view name, float fallback) const;
  std::string Text(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name, const std::vector<int64_t>& fallback) const;
  std::vector<float> Floats(std::string_view name) const;
  Tensor TensorOf(std::string_view name) const;

 private:
  const onnx::AttributeProto* Find(std::string_view name) const;
  // Of this kind (ONNX's number), or null.
  const onnx::AttributeProto* Find(std::string_view name, int type) const;

  const onnx::NodeProto& proto_;
  const int64_t opset_;
  const std::string& folder_;
};

// The outputs; empty: this node is none that the rule knows, and stays an op that is known by its cost alone.
// An input that the model leaves out does not exist; rules are given at least three.
using OnnxRule = OnnxValues (*)(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs);
using OnnxRules = std::map<std::string, OnnxRule, std::less<>>;

// By the op's name in ONNX's own domain. Built once.
const OnnxRules& AllOnnxRules();
void AddElementRules(OnnxRules* rules);
void AddLinearRules(OnnxRules* rules);
void AddImageRules(OnnxRules* rules);
void AddLayerRules(OnnxRules* rules);
void AddShapeRules(OnnxRules* rules);
void AddIndexRules(OnnxRules* rules);

// What several rules ask.
// A constant tensor of integers; empty where it is none.
std::optional<std::vector<int64_t>> ConstantInts(const OnnxValue& value);
// The one number of a constant tensor.
std::optional<double> ConstantNumber(const OnnxValue& value);
// Counted from the front. Throws InvalidArgument for none of `rank` axes.
int64_t Axis(int64_t axis, int rank);
std::vector<int64_t> AllAxes(int rank);
bool IsFloat(DataType dtype);
// Over these axes, in whichever order the value lies.
OnnxValue Reduced(OnnxEmitter& to, std::string_view op, const OnnxValue& value, std::vector<int64_t> axes,
                  bool keep);

}  // namespace lanescope
