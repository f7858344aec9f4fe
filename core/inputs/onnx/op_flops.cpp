// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/op_flops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace lanescope {
namespace {

using Flops = std::optional<double>;
using Infos = std::vector<TensorInfo>;
using FlopRule = Flops (*)(const OnnxNode& node, const OnnxValues& inputs, const Infos& outputs);

Flops ElementsIn(const Shape& shape) {
  if (!shape.known_rank() || !shape.IsExact()) return std::nullopt;
  double elements = 1;
  for (const Dim size : shape.dims()) elements *= static_cast<double>(size);
  return elements;
}

Flops ElementsIn(const OnnxValues& inputs, size_t input) {
  return input < inputs.size() && inputs[input].exists() ? ElementsIn(inputs[input].shape()) : std::nullopt;
}

// Counted from the end where it is negative.
Flops SizeIn(const OnnxValues& inputs, size_t input, int axis) {
  if (input >= inputs.size() || !inputs[input].exists() || !inputs[input].known_rank()) return std::nullopt;
  const Shape shape = inputs[input].shape();
  const int at = axis < 0 ? axis + shape.rank() : axis;
  if (at < 0 || at >= shape.rank() || !IsExact(shape.dim(at))) return std::nullopt;
  return static_cast<double>(shape.dim(at));
}

Flops Times(std::initializer_list<Flops> factors) {
  double product = 1;
  for (const Flops& factor : factors) {
    if (!factor) return std::nullopt;
    product *= *factor;
  }
  return product;
}

Flops Plus(Flops a, Flops b) { return a && b ? Flops(*a + *b) : std::nullopt; }

// Products for each output, or, of a transposed one, for each input.
template <size_t filter, bool transposed>
Flops ConvolutionFlops(const OnnxNode&, const OnnxValues& inputs, const Infos& outputs) {
  const Flops weights = ElementsIn(inputs, filter), filters = SizeIn(inputs, filter, 0);
  if (outputs.empty() || !weights || !filters || *filters == 0) return std::nullopt;
  return Times({2, transposed ? ElementsIn(inputs, 0) : ElementsIn(outputs[0].shape), *weights / *filters});
}

Flops MatrixProductFlops(const OnnxNode& node, const OnnxValues& inputs, const Infos& outputs) {
  if (outputs.empty()) return std::nullopt;
  const bool turned = node.Int("transA", 0) != 0;
  return Times({2, ElementsIn(outputs[0].shape), SizeIn(inputs, 0, turned ? -2 : -1)});
}

Flops PackedMatrixProductFlops(const OnnxNode& node, const OnnxValues&, const Infos& outputs) {
  if (outputs.empty()) return std::nullopt;
  return Times({2, ElementsIn(outputs[0].shape), static_cast<double>(node.Int("K", 0))});
}

// Queries by keys, and the weights that come of it by values; `past`: the input of earlier keys.
template <size_t past>
Flops AttentionFlops(const OnnxNode&, const OnnxValues& inputs, const Infos& outputs) {
  if (outputs.empty()) return std::nullopt;
  Flops keys = SizeIn(inputs, 1, -2);
  if (past < inputs.size() && inputs[past].exists()) keys = Plus(keys, SizeIn(inputs, past, -2));
  return Times({2, keys, Plus(ElementsIn(inputs, 0), ElementsIn(outputs[0].shape))});
}

// ONNX Runtime's, which makes queries, keys and values itself.
Flops ProjectingAttentionFlops(const OnnxNode&, const OnnxValues& inputs, const Infos& outputs) {
  if (outputs.empty()) return std::nullopt;
  const Flops projections = Times({2, ElementsIn(inputs, 0), SizeIn(inputs, 1, -1)});
  return Plus(projections, Times({4, SizeIn(inputs, 0, 1), ElementsIn(outputs[0].shape)}));
}

// Every step multiplies all of both matrices for every example.
Flops RecurrenceFlops(const OnnxNode&, const OnnxValues& inputs, const Infos&) {
  return Times(
      {2, SizeIn(inputs, 0, 0), SizeIn(inputs, 0, 1), Plus(ElementsIn(inputs, 1), ElementsIn(inputs, 2))});
}

Flops PoolingFlops(const OnnxNode& node, const OnnxValues&, const Infos& outputs) {
  if (outputs.empty()) return std::nullopt;
  double window = 1;
  for (const int64_t size : node.Ints("kernel_shape", {})) window *= static_cast<double>(size);
  return Times({window, ElementsIn(outputs[0].shape)});
}

template <int each>
Flops OfOutputs(const OnnxNode&, const OnnxValues&, const Infos& outputs) {
  return outputs.empty() ? std::nullopt : Times({each, ElementsIn(outputs[0].shape)});
}

template <int each>
Flops OfInputs(const OnnxNode&, const OnnxValues& inputs, const Infos&) {
  return Times({each, ElementsIn(inputs, 0)});
}

Flops OfNothing(const OnnxNode&, const OnnxValues&, const Infos&) { return 0; }

// From the root to a leaf of each tree, for every row.
Flops TreeFlops(const OnnxNode& node, const OnnxValues& inputs, const Infos&) {
  const std::vector<int64_t> of = node.Ints("nodes_treeids", {});
  const std::set<int64_t> trees(of.begin(), of.end());
  if (trees.empty()) return std::nullopt;
  const double each = static_cast<double>(of.size()) / static_cast<double>(trees.size());
  return Times({SizeIn(inputs, 0, 0), static_cast<double>(trees.size()), std::ceil(std::log2(each + 1))});
}

// A product of every row with every vector, and what a kernel function takes.
Flops SupportVectorFlops(const OnnxNode& node, const OnnxValues& inputs, const Infos&) {
  const double numbers = static_cast<double>(node.Floats("support_vectors").size());
  const double coefficients = static_cast<double>(node.Floats("coefficients").size());
  return Times({2, SizeIn(inputs, 0, 0), numbers + coefficients});
}

const std::map<std::string_view, FlopRule>& Rules() {
  static const auto* const rules = [] {
    auto* all = new std::map<std::string_view, FlopRule>{
        {"ConvTranspose", ConvolutionFlops<1, true>}, {"QLinearConv", ConvolutionFlops<3, false>},
        {"MatMulNBits", PackedMatrixProductFlops},    {"MultiHeadAttention", AttentionFlops<6>},
        {"GroupQueryAttention", AttentionFlops<3>},   {"SVMClassifier", SupportVectorFlops},
        {"SVMRegressor", SupportVectorFlops}};
    const auto add = [&](FlopRule rule, std::initializer_list<std::string_view> ops) {
      for (const std::string_view op : ops) all->emplace(op, rule);
    };
    add(ConvolutionFlops<1, false>,
        {"Conv", "FusedConv", "NhwcConv", "NhwcFusedConv", "ConvInteger", "DeformConv"});
    add(MatrixProductFlops, {"MatMul", "MatMulInteger", "Gemm", "FusedMatMul", "FusedGemm", "QLinearMatMul",
                             "QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "GemmFloat8"});
    add(RecurrenceFlops, {"LSTM", "GRU", "RNN"});
    add(PoolingFlops, {"MaxPool", "AveragePool", "LpPool", "QLinearAveragePool"});
    add(TreeFlops, {"TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"});
    add(OfInputs<1>,
        {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "ReduceL1", "ReduceL2", "ReduceMax",
         "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "ReduceLogSum",
         "ReduceLogSumExp", "ArgMax", "ArgMin", "CumSum", "CumProd", "NonZero", "Normalizer"});
    add(OfInputs<8>, {"BatchNormalization", "InstanceNormalization", "GroupNormalization",
                      "LayerNormalization", "RMSNormalization", "LpNormalization",
                      "MeanVarianceNormalization", "Softmax", "LogSoftmax", "SkipLayerNormalization",
                      "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", "RotaryEmbedding"});
    add(OfOutputs<1>, {"Abs",
                       "Add",
                       "And",
                       "BitShift",
                       "BitwiseAnd",
                       "BitwiseNot",
                       "BitwiseOr",
                       "BitwiseXor",
                       "Cast",
                       "CastLike",
                       "Ceil",
                       "Clip",
                       "DequantizeLinear",
                       "Div",
                       "Equal",
                       "Floor",
                       "Greater",
                       "GreaterOrEqual",
                       "IsInf",
                       "IsNaN",
                       "LeakyRelu",
                       "Less",
                       "LessOrEqual",
                       "Max",
                       "Mean",
                       "Min",
                       "Mod",
                       "Mul",
                       "Neg",
                       "Not",
                       "Or",
                       "PRelu",
                       "Reciprocal",
                       "Relu",
                       "Round",
                       "Shrink",
                       "Sign",
                       "Sqrt",
                       "Sub",
                       "Sum",
                       "ThresholdedRelu",
                       "Where",
                       "Xor",
                       "QuantizeLinear",
                       "Bernoulli",
                       "Binarizer",
                       "Imputer",
                       "Scaler",
                       "HardSigmoid",
                       "HardSwish",
                       "Hardmax"});
    add(OfOutputs<10>, {"Acos",          "Acosh",
                        "Asin",          "Asinh",
                        "Atan",          "Atanh",
                        "Celu",          "Cos",
                        "Cosh",          "Elu",
                        "Erf",           "Exp",
                        "Gelu",          "Log",
                        "Mish",          "Pow",
                        "Selu",          "Sigmoid",
                        "Sin",           "Sinh",
                        "Softplus",      "Softsign",
                        "Swish",         "Tan",
                        "Tanh",          "BiasGelu",
                        "FastGelu",      "QuickGelu",
                        "Resize",        "Upsample",
                        "GridSample",    "LRN",
                        "RandomNormal",  "RandomNormalLike",
                        "RandomUniform", "RandomUniformLike"});
    add(OfNothing, {"ArrayFeatureExtractor",
                    "CenterCropPad",
                    "Col2Im",
                    "Compress",
                    "Concat",
                    "ConstantOfShape",
                    "DepthToSpace",
                    "Expand",
                    "EyeLike",
                    "FeatureVectorizer",
                    "Flatten",
                    "Gather",
                    "GatherElements",
                    "GatherND",
                    "Identity",
                    "LabelEncoder",
                    "OneHot",
                    "OneHotEncoder",
                    "Pad",
                    "Range",
                    "Reshape",
                    "ReverseSequence",
                    "ScatterElements",
                    "ScatterND",
                    "Shape",
                    "Size",
                    "Slice",
                    "SpaceToDepth",
                    "Split",
                    "Squeeze",
                    "TensorScatter",
                    "Tile",
                    "Transpose",
                    "Trilu",
                    "Unsqueeze",
                    "ZipMap"});
    return all;
  }();
  return *rules;
}

}  // namespace

std::optional<double> OnnxFlops(const OnnxNode& node, const OnnxValues& inputs,
                                const std::vector<TensorInfo>& outputs) {
  if (node.op() == "Attention")
    return (node.domain() == "com.microsoft" ? ProjectingAttentionFlops : AttentionFlops<4>)(node, inputs,
                                                                                             outputs);
  const auto rule = Rules().find(node.op());
  const bool known = node.domain().empty() || node.domain().starts_with("ai.onnx") ||
                     node.domain() == "com.microsoft" || node.domain() == "com.ms.internal.nhwc";
  return known && rule != Rules().end() ? rule->second(node, inputs, outputs) : std::nullopt;
}

}  // namespace lanescope
