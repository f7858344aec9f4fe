// SPDX-License-Identifier: Apache-2.0
// Gradients of the ops that layers are made of: activations, biases, pooling, normalisation, cross entropy.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> ReluGradient(const OpGradient& g) { return {op::ReluGrad(g.s, g.grad(), g.out())}; }

std::vector<Gradient> Relu6Gradient(const OpGradient& g) { return {op::Relu6Grad(g.s, g.grad(), g.out())}; }

std::vector<Gradient> LeakyReluGradient(const OpGradient& g) {
  return {op::LeakyReluGrad(g.s, g.grad(), g.in(0), {.alpha = g.node().FloatAttr("alpha", 0.2f)})};
}

std::vector<Gradient> EluGradient(const OpGradient& g) { return {op::EluGrad(g.s, g.grad(), g.out())}; }

std::vector<Gradient> SeluGradient(const OpGradient& g) { return {op::SeluGrad(g.s, g.grad(), g.out())}; }

std::vector<Gradient> SoftplusGradient(const OpGradient& g) {
  return {Mul(g.s, g.grad(), op::Sigmoid(g.s, g.in(0)))};
}

std::vector<Gradient> SoftsignGradient(const OpGradient& g) {
  return {op::SoftsignGrad(g.s, g.grad(), g.in(0))};
}

std::vector<Gradient> SoftmaxGradient(const OpGradient& g) {
  const Endpoint softmax = g.out(), grad = g.grad();
  const Endpoint sum = SumOver(g.s, Mul(g.s, grad, softmax), -1, true);
  return {Mul(g.s, Sub(g.s, grad, sum), softmax)};
}

std::vector<Gradient> LogSoftmaxGradient(const OpGradient& g) {
  const Endpoint softmax = op::Exp(g.s, g.out());
  const Endpoint sum = SumOver(g.s, g.grad(), -1, true);
  return {Sub(g.s, g.grad(), Mul(g.s, sum, softmax))};
}

std::vector<Gradient> BiasAddGradient(const OpGradient& g) {
  return {g.raw_grad(),
          op::BiasAddGrad(g.s, g.grad(), {.data_format = g.node().StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> BiasAddV1Gradient(const OpGradient& g) {
  const Endpoint last = Sub(g.s, RankTensor(g.s, g.grad()), 1);
  return {g.raw_grad(), SumOver(g.s, g.grad(), RangeUpTo(g.s, 0, last, 1))};
}

// One factor a row.
Endpoint TimesRows(Scope& s, Endpoint factors, Endpoint rows) {
  return Mul(s, op::ExpandDims(s, factors, -1), rows);
}

// By the logits, of loss and backprop both.
Endpoint CrossEntropyByLogits(const OpGradient& g) {
  const Endpoint grad = TimesRows(g.s, g.grad(0), g.out(1));
  if (g.is_zero(1)) return grad;
  const Endpoint second = g.grad(1);
  const Endpoint softmax = op::Softmax(g.s, g.in(0));
  const Endpoint row = op::ExpandDims(g.s, second, 1);
  const Endpoint product = op::BatchMatMulV2(g.s, row, op::ExpandDims(g.s, softmax, 2), {.name = "MatMul"});
  const Endpoint squeezed = op::Squeeze(g.s, product, {.squeeze_dims = {1}});
  return Add(g.s, grad, Mul(g.s, Sub(g.s, second, squeezed), softmax));
}

std::vector<Gradient> CrossEntropyGradient(const OpGradient& g) {
  const Endpoint by_logits = CrossEntropyByLogits(g);
  const Endpoint negative = Neg(g.s, op::LogSoftmax(g.s, g.in(0)));
  return {by_logits, TimesRows(g.s, g.grad(0), negative)};
}

std::vector<Gradient> SparseCrossEntropyGradient(const OpGradient& g) { return {CrossEntropyByLogits(g)}; }

std::vector<Gradient> MaxPoolGradient(const OpGradient& g) {
  const Node& node = g.node();
  std::vector<int64_t> paddings;
  if (node.FindAttr("explicit_paddings") != nullptr) paddings = node.IntListAttr("explicit_paddings");
  return {op::MaxPoolGrad(
      g.s, g.in(0), g.out(), g.grad(), node.IntListAttr("ksize"), node.IntListAttr("strides"),
      node.StringAttr("padding"),
      {.explicit_paddings = paddings, .data_format = node.StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> AvgPoolGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {op::AvgPoolGrad(g.s, ShapeTensor(g.s, g.in(0)), g.grad(), node.IntListAttr("ksize"),
                          node.IntListAttr("strides"), node.StringAttr("padding"),
                          {.data_format = node.StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> LrnGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {op::LRNGrad(g.s, g.grad(), g.in(0), g.out(),
                      {.depth_radius = node.IntAttr("depth_radius", 5),
                       .bias = node.FloatAttr("bias", 1.0f),
                       .alpha = node.FloatAttr("alpha", 1.0f),
                       .beta = node.FloatAttr("beta", 0.5f)})};
}

// By x, scale and offset; all versions of the op are alike but for what they hand on.
template <int version>
std::vector<Gradient> BatchNormGradient(const OpGradient& g) {
  const Node& node = g.node();
  const bool training = node.BoolAttr("is_training", true);
  const float epsilon = node.FloatAttr("epsilon", 1e-4f);
  std::string format = node.StringAttr("data_format", "NHWC");
  Endpoint x = g.in(0), grad = g.grad(0);
  const Endpoint scale = g.in(1);
  const Endpoint mean = training ? g.out(3) : g.in(3);
  const Endpoint variance = training ? g.out(4) : g.in(4);
  const bool turned = !training && format == "NCHW";
  if (turned) {
    x = op::Transpose(g.s, x, {0, 2, 3, 1}, {.name = "transpose"});
    grad = op::Transpose(g.s, grad, {0, 2, 3, 1}, {.name = "transpose"});
    format = "NHWC";
  }
  Endpoint of_x, of_scale, of_offset;
  if constexpr (version == 1) {
    const auto out =
        op::FusedBatchNormGrad(g.s, grad, x, scale, mean, variance,
                               {.epsilon = epsilon, .data_format = format, .is_training = training});
    of_x = out.x_backprop, of_scale = out.scale_backprop, of_offset = out.offset_backprop;
  } else if constexpr (version == 2) {
    const auto out =
        op::FusedBatchNormGradV2(g.s, grad, x, scale, mean, variance,
                                 {.epsilon = epsilon, .data_format = format, .is_training = training});
    of_x = out.x_backprop, of_scale = out.scale_backprop, of_offset = out.offset_backprop;
  } else {
    const auto out =
        op::FusedBatchNormGradV3(g.s, grad, x, scale, mean, variance, g.out(5),
                                 {.epsilon = epsilon, .data_format = format, .is_training = training});
    of_x = out.x_backprop, of_scale = out.scale_backprop, of_offset = out.offset_backprop;
  }
  if (turned) of_x = op::Transpose(g.s, of_x, {0, 3, 1, 2}, {.name = "transpose"});
  return {of_x, of_scale, of_offset};
}

void RequireSum(const Node& node) {
  if (node.StringAttr("reduction") == "sum") return;
  Throw(Code::kUnimplemented, "'{}': No gradient defined for {} except for reduction=\"sum\".", node.name,
        node.op);
}

// A sum over devices has on each the sum of their gradients.
std::vector<Gradient> AllReduceGradient(const OpGradient& g) {
  const Node& node = g.node();
  RequireSum(node);
  const auto on = g.s.Device(node.device);
  std::vector<std::pair<std::string_view, AttrValue>> attrs = {
      {"reduction", std::string("sum")},
      {"num_devices", node.IntAttr("num_devices")},
      {"shared_name", node.StringAttr("shared_name") + "_grad"}};
  const AttrValue* by = node.FindAttr("_lanescope_all_reduce");
  if (by != nullptr) attrs.emplace_back("_lanescope_all_reduce", *by);
  return {g.s.Add("NcclAllReduce", "", {InputList(g.grad())}, attrs)};
}

// A sum on one device has its gradient at every one.
std::vector<Gradient> NcclReduceGradient(const OpGradient& g) {
  const Node& node = g.node();
  RequireSum(node);
  const size_t tensors = node.inputs.size();
  const auto on = g.s.Device(node.device);
  const Endpoint sent =
      g.s.Add("NcclBroadcast", "", {InputList(g.grad())}, {{"shape", ShapeAttr{g.s.ShapeOf(g.grad()), ""}}});
  return std::vector<Gradient>(tensors, sent);
}

// The sum of the gradients at all who read it: what was added up for it, each from where it is.
std::vector<Gradient> NcclBroadcastGradient(const OpGradient& g) {
  const Node& node = g.node();
  const Node& sum = g.s.graph().node(g.grad().node);
  const std::vector<Endpoint> parts = sum.op == "AddN" ? sum.inputs : std::vector<Endpoint>{g.grad()};
  const auto on = g.s.Device(node.device);
  return {g.s.Add("NcclReduce", "", {InputList(parts)}, {{"reduction", std::string("sum")}})};
}

}  // namespace

void AddNetworkGradients(GradientTable& table) {
  table.Add("NcclAllReduce", AllReduceGradient);
  table.Add("NcclReduce", NcclReduceGradient);
  table.Add("NcclBroadcast", NcclBroadcastGradient);
  table.Add("Relu", ReluGradient);
  table.Add("Relu6", Relu6Gradient);
  table.Add("LeakyRelu", LeakyReluGradient);
  table.Add("Elu", EluGradient);
  table.Add("Selu", SeluGradient);
  table.Add("Softplus", SoftplusGradient);
  table.Add("Softsign", SoftsignGradient);
  table.Add("Softmax", SoftmaxGradient);
  table.Add("LogSoftmax", LogSoftmaxGradient);
  table.Add("BiasAdd", BiasAddGradient);
  table.Add("BiasAddV1", BiasAddV1Gradient);
  table.Add("SoftmaxCrossEntropyWithLogits", CrossEntropyGradient);
  table.Add("SparseSoftmaxCrossEntropyWithLogits", SparseCrossEntropyGradient);
  table.Add("MaxPool", MaxPoolGradient);
  table.Add("AvgPool", AvgPoolGradient);
  table.Add("LRN", LrnGradient);
  table.Add("FusedBatchNorm", BatchNormGradient<1>);
  table.Add("FusedBatchNormV2", BatchNormGradient<2>);
  table.Add("FusedBatchNormV3", BatchNormGradient<3>);
}

}  // namespace lanescope::graphs
