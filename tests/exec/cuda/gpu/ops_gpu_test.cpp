// Every op with a CUDA kernel against its host kernel and the same in doubles, over shapes: none, one, odd,
// large, broadcast.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/op_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::testing {
namespace {

constexpr DataType kFloat = DataType::kFloat;
constexpr DataType kDouble = DataType::kDouble;
constexpr DataType kInt32 = DataType::kInt32;
constexpr DataType kInt64 = DataType::kInt64;
constexpr DataType kBool = DataType::kBool;

AttrMap With(DataType t, AttrMap more = {}) {
  more.insert_or_assign("T", AttrValue(t));
  return more;
}
OpCase Case(const std::string& op, AttrMap attrs, std::vector<Tensor> inputs, std::set<int> variables = {}) {
  return {MakeNode(op, std::move(attrs)), std::move(inputs), std::move(variables)};
}
Tensor Random(DataType dtype, const Shape& shape, uint32_t seed = 1, double low = -2, double high = 2) {
  return RandomTensor(dtype, shape, seed, low, high);
}
Tensor IndicesBelow(int64_t limit, const Shape& shape, uint32_t seed, DataType dtype = kInt64) {
  std::mt19937 random(seed);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const auto value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
    if (dtype == kInt32) {
      tensor.data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      tensor.data<int64_t>()[i] = value;
    }
  }
  return tensor;
}
Tensor Number(int64_t value) { return Tensor::Scalar<int32_t>(static_cast<int32_t>(value)); }

const Shape kShapes[] = {Shape{0}, Shape{}, Shape{3}, Shape{5, 7}, Shape{257, 129}, Shape{1 << 18}};

TEST(GpuOps, Unary) {
  LANESCOPE_NEEDS_GPU();
  for (const char* op :
       {"Abs",   "Neg",   "Sign",  "Square", "Exp",      "Expm1",    "Tanh",  "Sigmoid", "Erf",     "Erfc",
        "Floor", "Ceil",  "Round", "Rint",   "Sin",      "Cos",      "Atan",  "Sinh",    "Cosh",    "Asinh",
        "Relu",  "Relu6", "Elu",   "Selu",   "Softplus", "Softsign", "IsNan", "IsInf",   "IsFinite"}) {
    for (const Shape& shape : kShapes) CheckOp(Case(op, With(kFloat), {Random(kFloat, shape)}));
    CheckOp(Case(op, With(kDouble), {Random(kDouble, Shape{1001})}), 1e-12);
  }
  for (const char* op : {"Sqrt", "Rsqrt", "Reciprocal", "Inv", "Log", "Log1p", "Lgamma"}) {
    CheckOp(Case(op, With(kFloat), {Random(kFloat, Shape{777}, 2, 0.1, 9)}), 3e-5);
    CheckOp(Case(op, With(kDouble), {Random(kDouble, Shape{777}, 2, 0.1, 9)}), 1e-12);
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Tan"}) {
    CheckOp(Case(op, With(kFloat), {Random(kFloat, Shape{777}, 3, -0.9, 0.9)}));
  }
  CheckOp(Case("Acosh", With(kFloat), {Random(kFloat, Shape{777}, 3, 1.1, 9)}));
  for (const char* op : {"Abs", "Neg", "Sign", "Square"}) {
    CheckOp(Case(op, With(kInt64), {Random(kInt64, Shape{300}, 4, -1000, 1000)}));
  }
  CheckOp(Case("Invert", With(kInt32), {Random(kInt32, Shape{300}, 4, -1000, 1000)}));
  CheckOp(Case("LogicalNot", {}, {Random(kBool, Shape{33})}));
  CheckOp(Case("LeakyRelu", With(kFloat, {{"alpha", AttrValue(0.3f)}}), {Random(kFloat, Shape{999})}));
}

TEST(GpuOps, Binary) {
  LANESCOPE_NEEDS_GPU();
  const std::pair<Shape, Shape> shapes[] = {{Shape{0}, Shape{0}},
                                            {Shape{}, Shape{}},
                                            {Shape{1027}, Shape{1027}},
                                            {Shape{1027}, Shape{}},
                                            {Shape{}, Shape{1027}},
                                            {Shape{64, 33}, Shape{33}},
                                            {Shape{64, 1}, Shape{1, 33}},
                                            {Shape{3, 1, 5}, Shape{4, 1}},
                                            {Shape{2, 3, 4, 5}, Shape{3, 1, 5}},
                                            {Shape{512, 1000}, Shape{1000}},
                                            {Shape{0, 3}, Shape{3}}};
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "MulNoNan", "RealDiv", "Div", "DivNoNan", "FloorDiv",
                         "FloorMod", "Maximum", "Minimum", "SquaredDifference", "Atan2", "Xdivy"}) {
    for (const auto& [a, b] : shapes) {
      // Quotients of a few steps, so that floor never sits on an edge.
      CheckOp(Case(op, With(kFloat), {Random(kFloat, a, 1, 1, 2), Random(kFloat, b, 2, 2.5, 3)}));
    }
    CheckOp(Case(op, With(kDouble),
                 {Random(kDouble, Shape{100}, 1, 1, 2), Random(kDouble, Shape{100}, 2, 2.5, 3)}),
            1e-12);
  }
  for (const char* op : {"Pow", "Xlogy"}) {
    CheckOp(Case(op, With(kFloat),
                 {Random(kFloat, Shape{500}, 1, 0.1, 3), Random(kFloat, Shape{500}, 2, 0.5, 2)}));
  }
  for (const char* op : {"AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "FloorDiv",
                         "FloorMod", "Div", "TruncateDiv"}) {
    CheckOp(Case(op, With(kInt64),
                 {Random(kInt64, Shape{40, 9}, 1, -100, 100), Random(kInt64, Shape{9}, 2, 1, 30)}));
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"}) {
    CheckOp(
        Case(op, With(kInt32), {Random(kInt32, Shape{90}, 1, 0, 1000), Random(kInt32, Shape{90}, 2, 0, 9)}));
  }
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad",
                         "ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"}) {
    for (const Shape& shape : kShapes) {
      CheckOp(Case(op, With(kFloat), {Random(kFloat, shape, 1, 0.2, 2), Random(kFloat, shape, 2)}));
    }
  }
  CheckOp(Case("LeakyReluGrad", With(kFloat), {Random(kFloat, Shape{77}), Random(kFloat, Shape{77}, 2)}));
}

TEST(GpuOps, Comparisons) {
  LANESCOPE_NEEDS_GPU();
  for (const char* op : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}) {
    for (const DataType t : {kFloat, kDouble, kInt64}) {
      CheckOp(Case(op, With(t), {Random(t, Shape{50, 21}, 1, -3, 3), Random(t, Shape{21}, 2, -3, 3)}));
    }
  }
  for (const char* op : {"Equal", "NotEqual"}) {
    CheckOp(Case(op, With(kBool), {Random(kBool, Shape{99}), Random(kBool, Shape{99}, 2)}));
    CheckOp(Case(op, With(kFloat, {{"incompatible_shape_error", AttrValue(false)}}),
                 {Random(kFloat, Shape{3}), Random(kFloat, Shape{4})}));
  }
  for (const char* op : {"LogicalAnd", "LogicalOr"}) {
    CheckOp(Case(op, {}, {Random(kBool, Shape{9, 8}), Random(kBool, Shape{8}, 2)}));
  }
  CheckOp(Case("ApproximateEqual", With(kFloat, {{"tolerance", AttrValue(0.5f)}}),
               {Random(kFloat, Shape{999}), Random(kFloat, Shape{999}, 2)}));
}

TEST(GpuOps, SelectClipCastAddN) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble, kInt32, kInt64, kBool}) {
    CheckOp(Case("Select", With(t),
                 {Random(kBool, Shape{6, 5}), Random(t, Shape{6, 5}, 2), Random(t, Shape{6, 5}, 3)}));
    CheckOp(Case("Select", With(t),
                 {Random(kBool, Shape{6}), Random(t, Shape{6, 5}, 2), Random(t, Shape{6, 5}, 3)}));
    CheckOp(Case("Select", With(t),
                 {Random(kBool, Shape{}), Random(t, Shape{6, 5}, 2), Random(t, Shape{6, 5}, 3)}));
    CheckOp(Case("SelectV2", With(t),
                 {Random(kBool, Shape{6, 1}), Random(t, Shape{5}, 2), Random(t, Shape{}, 3)}));
  }
  CheckOp(Case("ClipByValue", With(kFloat),
               {Random(kFloat, Shape{777}), Tensor::Scalar(-0.5f), Random(kFloat, Shape{777}, 2, 0, 1)}));
  const DataType types[] = {kFloat, kDouble, kInt32, kInt64, kBool, DataType::kUint8};
  for (const DataType from : types) {
    for (const DataType to : types) {
      if (from == to || from == DataType::kUint8) continue;
      const AttrMap attrs = {{"SrcT", AttrValue(from)}, {"DstT", AttrValue(to)}};
      CheckOp(Case("Cast", attrs, {Random(from, Shape{501}, 1, -100, 100)}), 1e-5, false);
    }
  }
  for (const int64_t count : {1, 2, 33, 70}) {
    std::vector<Tensor> inputs;
    for (int64_t i = 0; i < count; ++i)
      inputs.push_back(Random(kFloat, Shape{13, 7}, static_cast<uint32_t>(i)));
    CheckOp(Case("AddN", With(kFloat, {{"N", IntAttr(count)}}), inputs), 2e-5);
  }
}

TEST(GpuOps, Reductions) {
  LANESCOPE_NEEDS_GPU();
  const std::pair<Shape, std::vector<int32_t>> cases[] = {
      {Shape{}, {}},          {Shape{7}, {0}},         {Shape{5, 9}, {0}},       {Shape{5, 9}, {1}},
      {Shape{5, 9}, {0, 1}},  {Shape{5, 9}, {}},       {Shape{4, 5, 6}, {0, 2}}, {Shape{4, 5, 6}, {1}},
      {Shape{0, 3}, {0}},     {Shape{0, 3}, {1}},      {Shape{300000}, {0}},     {Shape{3, 70001}, {1}},
      {Shape{30001, 7}, {0}}, {Shape{1000, 300}, {0}}, {Shape{1000, 300}, {-1}}, {Shape{32, 80, 10}, {0, 1}}};
  for (const auto& [shape, axes] : cases) {
    for (const bool keep : {false, true}) {
      const AttrMap more = {{"keep_dims", AttrValue(keep)}, {"Tidx", AttrValue(kInt32)}};
      for (const char* op : {"Sum", "Mean", "Max", "Min", "EuclideanNorm"}) {
        // The mean and the extremes of nothing are not numbers that compare.
        if (shape.NumElements() == 0 && std::string(op) != "Sum") continue;
        CheckOp(Case(op, With(kFloat, more), {Random(kFloat, shape), Ints(axes)}), 2e-5);
        CheckOp(Case(op, With(kDouble, more), {Random(kDouble, shape), Ints(axes)}), 1e-11);
      }
      CheckOp(Case("Sum", With(kInt64, more), {Random(kInt64, shape, 1, -99, 99), Ints(axes)}));
      CheckOp(Case("Prod", With(kInt32, more), {Random(kInt32, shape, 1, -3, 3), Ints(axes)}));
      for (const char* op : {"Any", "All"}) {
        CheckOp(Case(op, {{"keep_dims", AttrValue(keep)}, {"Tidx", AttrValue(kInt32)}},
                     {Random(kBool, shape, 3, -1, 1), Ints(axes)}));
      }
    }
  }
  CheckOp(Case("Prod", With(kFloat, {{"Tidx", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{9, 7}, 1, 0.9, 1.1), Ints({1})}));
  for (const int64_t n : {0, 1, 1000, 500000})
    CheckOp(Case("L2Loss", With(kFloat), {Random(kFloat, Shape{n})}), 3e-5);
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const int axis : {0, 1, -1}) {
      for (const DataType out : {kInt32, kInt64}) {
        const AttrMap more = {{"Tidx", AttrValue(kInt32)}, {"output_type", AttrValue(out)}};
        CheckOp(Case(op, With(kFloat, more), {Random(kFloat, Shape{37, 55, 3}), Number(axis)}), 0);
      }
    }
  }
  for (const char* op : {"Cumsum", "Cumprod"}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const AttrMap more = {{"Tidx", AttrValue(kInt32)},
                              {"exclusive", AttrValue(exclusive)},
                              {"reverse", AttrValue(reverse)}};
        for (const Shape& shape : {Shape{7, 5}, Shape{3, 1000}, Shape{1000, 3}, Shape{0, 3}}) {
          for (const int axis : {0, 1}) {
            CheckOp(Case(op, With(kFloat, more), {Random(kFloat, shape, 1, 0.95, 1.05), Number(axis)}), 1e-4);
          }
        }
      }
    }
  }
  for (const int k : {0, 1, 5, 40}) {
    const AttrMap more = {{"index_type", AttrValue(kInt32)}};
    CheckOp(Case("TopKV2", With(kFloat, more), {Random(kFloat, Shape{6, 40}), Number(k)}));
    CheckOp(Case("TopKV2", With(kInt32, more), {Random(kInt32, Shape{6, 999}, 1, 0, 20), Number(k)}));
  }
  CheckOp(Case("InTopKV2", With(kInt32),
               {Random(kFloat, Shape{50, 20}), IndicesBelow(20, Shape{50}, 4, kInt32), Number(5)}),
          0, false);
}

TEST(GpuOps, Products) {
  LANESCOPE_NEEDS_GPU();
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const auto& [m, k, n] :
           {std::array<int64_t, 3>{5, 7, 3}, {1, 1, 1}, {130, 257, 65}, {4, 0, 3}, {0, 4, 3}}) {
        const AttrMap more = {{"transpose_a", AttrValue(turn_a)}, {"transpose_b", AttrValue(turn_b)}};
        const Shape a = turn_a ? Shape{k, m} : Shape{m, k};
        const Shape b = turn_b ? Shape{n, k} : Shape{k, n};
        CheckOp(Case("MatMul", With(kFloat, more), {Random(kFloat, a), Random(kFloat, b, 2)}), 3e-5);
        CheckOp(Case("MatMul", With(kDouble, more), {Random(kDouble, a), Random(kDouble, b, 2)}), 1e-11);
      }
      const AttrMap more = {{"adj_x", AttrValue(turn_a)}, {"adj_y", AttrValue(turn_b)}};
      const std::pair<Shape, Shape> batches[] = {
          {Shape{3}, Shape{3}}, {Shape{2, 3}, Shape{3}}, {Shape{1}, Shape{4}}, {Shape{2, 1}, Shape{1, 3}}};
      for (const auto& [left, right] : batches) {
        Shape a = left;
        Shape b = right;
        a.Append(turn_a ? 6 : 4);
        a.Append(turn_a ? 4 : 6);
        b.Append(turn_b ? 5 : 6);
        b.Append(turn_b ? 6 : 5);
        CheckOp(Case("BatchMatMulV2", With(kFloat, more), {Random(kFloat, a), Random(kFloat, b, 2)}));
      }
    }
  }
}

struct ConvSizes {
  Shape images, filter;
  int64_t stride, dilation;
  const char* padding;
};
const ConvSizes kConvolutions[] = {{Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"},
                                   {Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "VALID"},
                                   {Shape{3, 9, 8, 4}, Shape{2, 3, 4, 5}, 2, 1, "SAME"},
                                   {Shape{1, 12, 9, 8}, Shape{3, 2, 8, 3}, 1, 2, "VALID"},
                                   {Shape{4, 1, 80, 50}, Shape{1, 3, 50, 10}, 1, 1, "VALID"},
                                   {Shape{2, 5, 5, 7}, Shape{1, 1, 7, 6}, 1, 1, "VALID"},
                                   {Shape{8, 24, 24, 16}, Shape{5, 5, 16, 32}, 1, 1, "SAME"},
                                   {Shape{0, 5, 5, 3}, Shape{3, 3, 3, 2}, 1, 1, "SAME"}};

TEST(GpuOps, Convolutions) {
  LANESCOPE_NEEDS_GPU();
  for (const ConvSizes& s : kConvolutions) {
    const AttrMap more = {{"strides", IntsAttr({1, s.stride, s.stride, 1})},
                          {"dilations", IntsAttr({1, s.dilation, s.dilation, 1})},
                          {"padding", StringAttr(s.padding)}};
    const auto sizes = [](const Shape& shape) {
      std::vector<int32_t> values;
      for (const Dim dim : shape.dims()) values.push_back(static_cast<int32_t>(dim));
      return Ints(values);
    };
    for (const DataType t : {kFloat, kDouble}) {
      const double tolerance = t == kFloat ? 5e-5 : 1e-11;
      const Tensor images = Random(t, s.images);
      const Tensor filter = Random(t, s.filter, 2);
      const OpCase forward = Case("Conv2D", With(t, more), {images, filter});
      CheckOp(forward, tolerance);
      const Tensor dy = Random(t, PlansOf(forward)[0].shape, 3);
      CheckOp(Case("Conv2DBackpropInput", With(t, more), {sizes(s.images), filter, dy}), tolerance);
      CheckOp(Case("Conv2DBackpropFilter", With(t, more), {images, sizes(s.filter), dy}), tolerance * 10);
    }
  }
}

TEST(GpuOps, Pooling) {
  LANESCOPE_NEEDS_GPU();
  struct Sizes {
    Shape images;
    int64_t rows, columns, stride;
    const char* padding;
  };
  for (const Sizes& s :
       {Sizes{Shape{2, 7, 6, 3}, 3, 3, 2, "SAME"}, Sizes{Shape{2, 7, 6, 3}, 2, 2, 2, "VALID"},
        Sizes{Shape{1, 5, 5, 8}, 3, 2, 1, "SAME"}, Sizes{Shape{3, 798, 1, 10}, 798, 1, 1, "VALID"},
        Sizes{Shape{2, 20, 21, 5}, 9, 10, 3, "SAME"}, Sizes{Shape{0, 4, 4, 2}, 2, 2, 2, "VALID"}}) {
    const AttrMap more = {{"ksize", IntsAttr({1, s.rows, s.columns, 1})},
                          {"strides", IntsAttr({1, s.stride, s.stride, 1})},
                          {"padding", StringAttr(s.padding)}};
    const Tensor x = Random(kFloat, s.images);
    const OpCase pool = Case("MaxPool", With(kFloat, more), {x});
    CheckOp(pool);
    CheckOp(Case("AvgPool", With(kFloat, more), {x}));
    const Tensor y = RunOnHost(pool)[0];
    const Tensor dy = Random(kFloat, y.shape(), 3);
    CheckOp(Case("MaxPoolGrad", With(kFloat, more), {x, y, dy}));
    std::vector<int32_t> shape;
    for (const Dim dim : s.images.dims()) shape.push_back(static_cast<int32_t>(dim));
    CheckOp(Case("AvgPoolGrad", With(kFloat, more), {Ints(shape), dy}));
  }
}

TEST(GpuOps, Layers) {
  LANESCOPE_NEEDS_GPU();
  for (const Shape& shape : {Shape{5, 7}, Shape{2, 6, 5, 10}, Shape{1000, 33}, Shape{0, 4}}) {
    const int64_t channels = shape[shape.rank() - 1];
    CheckOp(Case("BiasAdd", With(kFloat), {Random(kFloat, shape), Random(kFloat, Shape{channels}, 2)}));
    CheckOp(Case("BiasAddGrad", With(kFloat), {Random(kFloat, shape)}), 3e-5);
  }
  CheckOp(Case("BiasAdd", With(kFloat, {{"data_format", StringAttr("NCHW")}}),
               {Random(kFloat, Shape{2, 3, 4, 5}), Random(kFloat, Shape{3}, 2)}));
  CheckOp(Case("BiasAddGrad", With(kFloat, {{"data_format", StringAttr("NCHW")}}),
               {Random(kFloat, Shape{2, 3, 4, 5})}));
  for (const float beta : {0.75f, 0.5f, 1.0f, 0.6f}) {
    for (const Shape& shape : {Shape{2, 3, 4, 11}, Shape{2, 2, 2, 64}, Shape{1, 1, 2, 300}}) {
      const AttrMap more = {{"depth_radius", IntAttr(4)},
                            {"bias", AttrValue(1.5f)},
                            {"alpha", AttrValue(0.01f)},
                            {"beta", AttrValue(beta)}};
      const Tensor x = Random(kFloat, shape);
      const OpCase forward = Case("LRN", With(kFloat, more), {x});
      CheckOp(forward);
      CheckOp(Case("LRNGrad", With(kFloat, more), {Random(kFloat, shape, 2), x, RunOnHost(forward)[0]}));
    }
  }
  for (const Shape& shape : {Shape{5, 7}, Shape{3, 2000}, Shape{9, 1}, Shape{0, 4}, Shape{1000, 10}}) {
    for (const char* op : {"Softmax", "LogSoftmax"})
      CheckOp(Case(op, With(kFloat), {Random(kFloat, shape, 1, -9, 9)}));
    CheckOp(Case("SoftmaxCrossEntropyWithLogits", With(kFloat),
                 {Random(kFloat, shape, 1, -9, 9), Random(kFloat, shape, 2, 0, 1)}),
            3e-4);
    CheckOp(Case("SparseSoftmaxCrossEntropyWithLogits", With(kFloat, {{"Tlabels", AttrValue(kInt64)}}),
                 {Random(kFloat, shape, 1, -9, 9), IndicesBelow(shape[1], Shape{shape[0]}, 3)}));
  }
  CheckOp(Case("SoftmaxCrossEntropyWithLogits", With(kFloat),
               {Random(kFloat, Shape{6, 5}), Random(kFloat, Shape{1, 5}, 2, 0, 1)}));
}

TEST(GpuOps, NewShapesAndFills) {
  LANESCOPE_NEEDS_GPU();
  const Tensor x = Random(kFloat, Shape{6, 10});
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient"})
    CheckOp(Case(op, With(kFloat), {x}));
  CheckOp(Case("Reshape", With(kFloat, {{"Tshape", AttrValue(kInt32)}}), {x, Ints({4, -1})}));
  CheckOp(Case("ExpandDims", With(kFloat, {{"Tdim", AttrValue(kInt32)}}), {x, Number(-2)}));
  CheckOp(Case("Squeeze", With(kFloat, {{"squeeze_dims", IntsAttr({1})}}), {Random(kFloat, Shape{3, 1, 2})}));
  CheckOp(
      Case("Fill", With(kFloat, {{"index_type", AttrValue(kInt32)}}), {Ints({3, 5}), Tensor::Scalar(2.5f)}));
  for (const DataType t : {kFloat, kDouble, kInt64, kBool}) {
    CheckOp(Case("ZerosLike", With(t), {Random(t, Shape{77})}));
    CheckOp(Case("OnesLike", With(t), {Random(t, Shape{77})}));
  }
  CheckOp(Case("ZerosLike", With(kInt32), {Random(kInt32, Shape{5})}));
  CheckOp(Case("Range", {{"Tidx", AttrValue(kFloat)}},
               {Tensor::Scalar(0.5f), Tensor::Scalar(9.0f), Tensor::Scalar(0.25f)}));
  CheckOp(Case("Range", {{"Tidx", AttrValue(kInt64)}},
               {Tensor::Scalar<int64_t>(9), Tensor::Scalar<int64_t>(-9), Tensor::Scalar<int64_t>(-2)}));
  for (const int64_t axis : {-1, 0, 1}) {
    CheckOp(Case("OneHot", With(kFloat, {{"TI", AttrValue(kInt64)}, {"axis", IntAttr(axis)}}),
                 {IndicesBelow(9, Shape{4, 3}, 1), Number(7), Tensor::Scalar(2.0f), Tensor::Scalar(-1.0f)}));
  }
  CheckOp(Case("CheckNumerics", With(kFloat, {{"message", StringAttr("x")}}), {x}));
  const auto value = std::make_shared<TensorAttr>(TensorAttr{x, ""});
  CheckOp(Case("Const",
               {{"dtype", AttrValue(kFloat)}, {"value", AttrValue(std::shared_ptr<const TensorAttr>(value))}},
               {}),
          0, false);
}

TEST(GpuOps, Layout) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble, kBool, kInt32}) {
    for (const auto& [shape, perm] : {std::pair<Shape, std::vector<int32_t>>{Shape{5, 7}, {1, 0}},
                                      {Shape{64, 100}, {1, 0}},
                                      {Shape{3, 40, 50}, {0, 2, 1}},
                                      {Shape{33, 2, 65}, {2, 1, 0}},
                                      {Shape{2, 3, 4, 8}, {0, 3, 1, 2}},
                                      {Shape{4, 6, 8}, {1, 0, 2}},
                                      {Shape{0, 3}, {1, 0}}}) {
      CheckOp(Case("Transpose", With(t, {{"Tperm", AttrValue(kInt32)}}), {Random(t, shape), Ints(perm)}));
    }
    CheckOp(
        Case("Tile", With(t, {{"Tmultiples", AttrValue(kInt32)}}), {Random(t, Shape{3, 4}), Ints({2, 3})}));
  }
  for (const char* op : {"BroadcastTo"}) {
    CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt32)}}),
                 {Random(kFloat, Shape{3, 1}), Ints({2, 3, 8})}));
    CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt32)}}), {Random(kFloat, Shape{}), Ints({1000})}));
  }
  CheckOp(Case("ReverseV2", With(kFloat, {{"Tidx", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{3, 5, 4}), Ints({0, 2})}));
  CheckOp(Case("Slice", With(kFloat, {{"Index", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{6, 8, 5}), Ints({1, 4, 0}), Ints({3, 4, -1})}));
  const AttrMap slice = {
      {"Index", AttrValue(kInt32)}, {"begin_mask", IntAttr(1)}, {"shrink_axis_mask", IntAttr(4)}};
  CheckOp(Case("StridedSlice", With(kFloat, slice),
               {Random(kFloat, Shape{6, 8, 5}), Ints({0, 7, 2}), Ints({5, 1, 3}), Ints({2, -3, 1})}));
  CheckOp(Case(
      "StridedSliceGrad", With(kFloat, slice),
      {Ints({6, 8, 5}), Ints({0, 7, 2}), Ints({5, 1, 3}), Ints({2, -3, 1}), Random(kFloat, Shape{3, 2})}));
  for (const int axis : {0, 1, 2}) {
    std::vector<Tensor> parts;
    for (const int64_t size : {3, 0, 4, 8}) {
      Shape shape{4, 6, 8};
      shape.set_dim(axis, size);
      parts.push_back(Random(kFloat, shape, static_cast<uint32_t>(size)));
    }
    parts.push_back(Number(axis));
    CheckOp(Case("ConcatV2", With(kFloat, {{"N", IntAttr(4)}, {"Tidx", AttrValue(kInt32)}}), parts));
    CheckOp(Case("Split", With(kFloat, {{"num_split", IntAttr(2)}}),
                 {Number(axis), Random(kFloat, Shape{4, 6, 8})}));
  }
  CheckOp(Case("SplitV", With(kFloat, {{"num_split", IntAttr(3)}, {"Tlen", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{4, 9}), Ints({2, -1, 3}), Number(1)}));
  for (const int64_t axis : {0, 1, -1}) {
    std::vector<Tensor> parts;
    for (uint32_t i = 0; i < 70; ++i) parts.push_back(Random(kFloat, Shape{4, 3}, i));
    CheckOp(Case("Pack", With(kFloat, {{"N", IntAttr(70)}, {"axis", IntAttr(axis)}}), parts));
  }
  CheckOp(Case("Unpack", With(kFloat, {{"num", IntAttr(6)}, {"axis", IntAttr(1)}}),
               {Random(kFloat, Shape{4, 6, 8})}));
  const Tensor pads = Tensor::FromValues<int32_t>(Shape{2, 2}, {1, 2, 0, 3});
  CheckOp(Case("Pad", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}}), {Random(kFloat, Shape{4, 5}), pads}));
  CheckOp(Case("PadV2", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{4, 5}), pads, Tensor::Scalar(7.0f)}));
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    CheckOp(Case("MirrorPad", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}, {"mode", StringAttr(mode)}}),
                 {Random(kFloat, Shape{4, 5}), pads}));
  }
}

TEST(GpuOps, Gathers) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType index : {kInt32, kInt64}) {
    for (const int64_t inner : {1, 3, 50, 64}) {
      const AttrMap attrs = {
          {"Tparams", AttrValue(kFloat)}, {"Tindices", AttrValue(index)}, {"Taxis", AttrValue(kInt32)}};
      CheckOp(Case("GatherV2", attrs,
                   {Random(kFloat, Shape{40, inner}), IndicesBelow(40, Shape{9, 5}, 2, index), Number(0)}));
      CheckOp(Case("GatherV2", attrs,
                   {Random(kFloat, Shape{4, 7, inner}), IndicesBelow(7, Shape{9}, 2, index), Number(1)}));
    }
    CheckOp(Case("GatherNd", {{"Tparams", AttrValue(kFloat)}, {"Tindices", AttrValue(index)}},
                 {Random(kFloat, Shape{5, 5, 6}), IndicesBelow(5, Shape{7, 2}, 3, index)}));
  }
  CheckOp(Case("GatherV2",
               {{"Tparams", AttrValue(kFloat)},
                {"Tindices", AttrValue(kInt64)},
                {"Taxis", AttrValue(kInt32)},
                {"batch_dims", IntAttr(1)}},
               {Random(kFloat, Shape{3, 7, 2}), IndicesBelow(7, Shape{3, 4}, 5), Number(1)}));
}

TEST(GpuOps, UniqueAndItsKin) {
  LANESCOPE_NEEDS_GPU();
  for (const int64_t n : {0, 1, 100, 5000, 51200}) {
    for (const int64_t limit : {1, 7, 90000}) {
      for (const DataType out : {kInt32, kInt64}) {
        const AttrMap attrs = With(kInt64, {{"out_idx", AttrValue(out)}});
        CheckOp(Case("Unique", attrs, {IndicesBelow(limit, Shape{n}, 1)}));
        CheckOp(Case("UniqueWithCounts", attrs, {IndicesBelow(limit, Shape{n}, 1)}));
      }
    }
  }
  CheckOp(Case("Unique", With(kFloat, {{"out_idx", AttrValue(kInt32)}}),
               {Floats(Shape{6}, {1, -0.0f, 0, 2, 1, -3})}));
  CheckOp(Case("Where", With(kBool), {Random(kBool, Shape{30, 20})}));
  CheckOp(Case("Where", With(kFloat), {Floats(Shape{5}, {1, 0, -2, 0, 3})}));
  for (const int64_t rows : {0, 1, 500}) {
    CheckOp(Case("DynamicPartition", With(kFloat, {{"num_partitions", IntAttr(4)}}),
                 {Random(kFloat, Shape{rows, 3}), IndicesBelow(4, Shape{rows}, 2, kInt32)}));
  }
  CheckOp(
      Case("DynamicStitch", With(kFloat, {{"N", IntAttr(2)}}),
           {Ints({0, 4, 2, 4}), Ints({1, 3}), Random(kFloat, Shape{4, 6}), Random(kFloat, Shape{2, 6}, 2)}));
}

TEST(GpuOps, Segments) {
  LANESCOPE_NEEDS_GPU();
  for (const auto& [rows, inner, segments] : {std::array<int64_t, 3>{0, 3, 5},
                                              {1, 1, 1},
                                              {100, 7, 9},
                                              {5000, 50, 3000},
                                              {3000, 2, 2},
                                              {400, 1, 1000}}) {
    const AttrMap more = {{"Tindices", AttrValue(kInt32)}, {"Tnumsegments", AttrValue(kInt32)}};
    const Tensor ids = IndicesBelow(segments, Shape{rows}, 3, kInt32);
    for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
      CheckOp(Case(op, With(kFloat, more), {Random(kFloat, Shape{rows, inner}), ids, Number(segments)}), 1e-4,
              std::string(op) == "UnsortedSegmentSum");
    }
    CheckOp(Case("UnsortedSegmentProd", With(kFloat, more),
                 {Random(kFloat, Shape{rows, inner}, 1, 0.99, 1.01), ids, Number(segments)}),
            1e-3);
    if (rows == 0) continue;
    std::vector<int32_t> sorted = ListOf<int32_t>(ids);
    std::sort(sorted.begin(), sorted.end());
    for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin"}) {
      CheckOp(Case(op, With(kFloat, {{"Tindices", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{rows, inner}), Ints(sorted)}),
              1e-4);
    }
    for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
      CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt64)}, {"Tsegmentids", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{20, inner}), IndicesBelow(20, Shape{rows}, 4), Ints(sorted)}),
              1e-4);
    }
  }
  CheckOp(Case("UnsortedSegmentSum",
               With(kInt32, {{"Tindices", AttrValue(kInt64)}, {"Tnumsegments", AttrValue(kInt32)}}),
               {Random(kInt32, Shape{70, 3}, 1, -9, 9), IndicesBelow(5, Shape{70}, 2), Number(5)}));
}

TEST(GpuOps, VariablesAndScatters) {
  LANESCOPE_NEEDS_GPU();
  const Tensor variable = Random(kFloat, Shape{40, 5}, 1, 1, 2);
  CheckOp(Case("Assign", With(kFloat), {variable, Random(kFloat, Shape{40, 5}, 2)}, {0}));
  for (const char* op : {"AssignAdd", "AssignSub"}) {
    CheckOp(Case(op, With(kFloat), {variable, Random(kFloat, Shape{40, 5}, 2)}, {0}));
    CheckOp(Case(op, With(kInt64), {Random(kInt64, Shape{}), Tensor::Scalar<int64_t>(1)}, {0}));
  }
  for (const char* op : {"ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv",
                         "ScatterMin", "ScatterMax"}) {
    for (const int64_t updates : {0, 1, 17, 300}) {
      CheckOp(Case(op, With(kFloat, {{"Tindices", AttrValue(kInt32)}}),
                   {variable, IndicesBelow(40, Shape{updates}, 2, kInt32),
                    Random(kFloat, Shape{updates, 5}, 3, 0.98, 1.02)},
                   {0}),
              1e-4);
    }
    CheckOp(Case(op, With(kFloat, {{"Tindices", AttrValue(kInt32)}}),
                 {variable, IndicesBelow(40, Shape{9}, 2, kInt32), Tensor::Scalar(1.5f)}, {0}));
  }
  const AttrMap nd = {{"Tindices", AttrValue(kInt32)}};
  CheckOp(Case("ScatterNd", With(kFloat, nd),
               {IndicesBelow(6, Shape{90, 1}, 2, kInt32), Random(kFloat, Shape{90, 4}), Ints({6, 4})}));
}

TEST(GpuOps, Optimizers) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble}) {
    const double tolerance = t == kFloat ? 1e-5 : 1e-12;
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{3, 50, 10}, Shape{100003}}) {
      const auto at = [&](uint32_t seed) { return Random(t, shape, seed, 0.5, 1.5); };
      const auto scalar = [&](double value) { return Random(t, Shape{}, 1, value, value + 1e-9); };
      CheckOp(Case("ApplyGradientDescent", With(t), {at(1), scalar(0.1), at(2)}, {0}), tolerance);
      for (const bool nesterov : {false, true}) {
        const AttrMap more = {{"use_nesterov", AttrValue(nesterov)}};
        CheckOp(Case("ApplyMomentum", With(t, more), {at(1), at(2), scalar(0.1), at(3), scalar(0.9)}, {0, 1}),
                tolerance);
        CheckOp(Case("ApplyAdam", With(t, more),
                     {at(1), at(2), at(3), scalar(0.9), scalar(0.99), scalar(0.01), scalar(0.9), scalar(0.99),
                      scalar(1e-7), at(4)},
                     {0, 1, 2}),
                tolerance * 10);
      }
      CheckOp(Case("ApplyAdagrad", With(t), {at(1), at(2), scalar(0.1), at(3)}, {0, 1}), tolerance);
      CheckOp(Case("ApplyAdagradV2", With(t), {at(1), at(2), scalar(0.1), scalar(0.01), at(3)}, {0, 1}),
              tolerance);
      CheckOp(
          Case("ApplyRMSProp", With(t),
               {at(1), at(2), at(3), scalar(0.1), scalar(0.9), scalar(0.8), scalar(0.01), at(4)}, {0, 1, 2}),
          tolerance);
      CheckOp(Case("ApplyAdadelta", With(t),
                   {at(1), at(2), at(3), scalar(0.1), scalar(0.9), scalar(0.01), at(4)}, {0, 1, 2}),
              tolerance);
    }
    const Tensor rows = IndicesBelow(9, Shape{70}, 5, kInt32);
    CheckOp(Case("SparseApplyAdagrad", With(t, {{"Tindices", AttrValue(kInt32)}}),
                 {Random(t, Shape{9, 4}, 1), Random(t, Shape{9, 4}, 2, 1, 2), Random(t, Shape{}, 3, 0.1, 0.2),
                  Random(t, Shape{70, 4}, 4), rows},
                 {0, 1}),
            tolerance * 10);
  }
}

TEST(GpuOps, RandomNumbersAreTheHosts) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble}) {
    for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
      const AttrMap attrs = {
          {"T", AttrValue(kInt32)}, {"dtype", AttrValue(t)}, {"seed", IntAttr(3)}, {"seed2", IntAttr(4)}};
      for (const int32_t n : {0, 1, 1003})
        CheckOp(Case(op, attrs, {Ints({n})}), t == kFloat ? 1e-5 : 1e-12, false);
    }
  }
  for (const DataType t : {kInt32, kInt64}) {
    const AttrMap attrs = {
        {"T", AttrValue(kInt32)}, {"Tout", AttrValue(t)}, {"seed", IntAttr(3)}, {"seed2", IntAttr(4)}};
    CheckOp(Case("RandomUniformInt", attrs,
                 {Ints({1003}), Random(t, Shape{}, 1, -9, -8), Random(t, Shape{}, 1, 900, 901)}));
  }
}

}  // namespace
}  // namespace lanescope::exec::testing
