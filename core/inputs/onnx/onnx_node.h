// SPDX-License-Identifier: Apache-2.0
// A node of an ONNX model with its attributes, and the rules that make nodes of ours of it. Internal to core.
#pragma once

#include <initializer_list>
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
  const std::string& domain() const { return proto_.domain(); }
  int num_outputs() const { return proto_.output_size(); }
  // The version of ONNX's operators that the model is written in.
  int64_t opset() const { return opset_; }

  // Whether every attribute is one of these: newer versions have more.
  bool HasOnly(std::initializer_list<std::string_view> names) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t fallback) const;
  float Float(std::string_view name, float fallback) const;
  std::string Text(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name, const std::vector<int64_t>& fallback) const;
  std::vector<float> Floats(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;
  Tensor TensorOf(std::string_view name) const;
  const onnx::GraphProto& GraphOf(std::string_view name) const;

 private:
  const onnx::AttributeProto* Find(std::string_view name) const;
  // The attribute, if it has this kind (ONNX's number), or null.
  const onnx::AttributeProto* Find(std::string_view name, int type) const;

  const onnx::NodeProto& proto_;
  const int64_t opset_;
  const std::string& folder_;
};

// The outputs; empty: this node is none that the rule knows, and stays an op that is known by its cost alone.
// An input that the model leaves out does not exist; rules are given at least three.
using OnnxRule = OnnxValues (*)(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs);
using OnnxRules = std::map<std::string, OnnxRule, std::less<>>;

// By OnnxRuleName. Built once.
const OnnxRules& AllOnnxRules();
// "Relu" of ONNX's own domain, "com.microsoft.FusedConv" of others.
std::string OnnxRuleName(const std::string& domain, const std::string& op);
// Whether the op takes floats of less than 16 bits, which lie in bytes here (small_elements.h).
bool ReadsFormats(std::string_view op);
void AddActivationRules(OnnxRules* rules);
void AddAttentionRules(OnnxRules* rules);
void AddConvolutionRules(OnnxRules* rules);
void AddElementRules(OnnxRules* rules);
void AddImageRules(OnnxRules* rules);
void AddIndexRules(OnnxRules* rules);
void AddLayerRules(OnnxRules* rules);
void AddLinearRules(OnnxRules* rules);
void AddModelRules(OnnxRules* rules);
void AddNormRules(OnnxRules* rules);
void AddQuantizationRules(OnnxRules* rules);
void AddRecurrentRules(OnnxRules* rules);
void AddResizeRules(OnnxRules* rules);
void AddScatterRules(OnnxRules* rules);
void AddSequenceRules(OnnxRules* rules);
void AddShapeRules(OnnxRules* rules);

// The following serves several rules.
// A constant tensor of integers; empty where it is none.
std::optional<std::vector<int64_t>> ConstantInts(const OnnxValue& value);
// The one number of a constant tensor.
std::optional<double> ConstantNumber(const OnnxValue& value);
// Counted from the front. Throws InvalidArgument for none of `rank` axes.
int64_t Axis(int64_t axis, int rank);
std::vector<int64_t> AllAxes(int rank);
bool IsFloat(DataType dtype);
// Indices that count from the end where they are negative, counted from the front: constants by their values,
// others by arithmetic.
OnnxValue FromTheFront(OnnxEmitter& to, const OnnxValue& indices, int64_t size);
// Each index along an axis of this size with the other coordinates of its own place: [..., rank].
OnnxValue PlacesAlong(OnnxEmitter& to, const OnnxValue& indices, int64_t axis, int64_t size);
// Codes of floats of less than 16 bits as numbers.
OnnxValue CastFromFormat(OnnxEmitter& to, const OnnxValue& x, DataType dtype);
// Over these axes, in whichever order the value lies.
OnnxValue Reduced(OnnxEmitter& to, std::string_view op, const OnnxValue& value, std::vector<int64_t> axes,
                  bool keep);

}  // namespace lanescope
