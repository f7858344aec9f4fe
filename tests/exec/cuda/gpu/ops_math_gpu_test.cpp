// SPDX-License-Identifier: Apache-2.0
// Element-wise ops and reductions with a CUDA kernel, every one against its host kernel and the same in
// doubles, over shapes: none, one, odd, large, broadcast.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/op_cases.h"

namespace lanescope::exec::test {
namespace {

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
  for (const char* op : {"Sqrt", "Rsqrt", "Reciprocal", "Inv", "Log", "Log1p", "Lgamma", "Digamma"}) {
    CheckOp(Case(op, With(kFloat), {Random(kFloat, Shape{777}, 2, 0.1, 9)}), 3e-5);
    CheckOp(Case(op, With(kDouble), {Random(kDouble, Shape{777}, 2, 0.1, 9)}), 1e-12);
  }
  for (const char* op : {"Erfinv", "Ndtri"}) {
    CheckOp(Case(op, With(kFloat), {Random(kFloat, Shape{777}, 3, 0.01, 0.99)}), 3e-5);
    CheckOp(Case(op, With(kDouble), {Random(kDouble, Shape{777}, 3, 0.01, 0.99)}), 1e-12);
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
  for (const char* op : {"Pow", "Xlogy", "Xlog1py"}) {
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

}  // namespace
}  // namespace lanescope::exec::test
