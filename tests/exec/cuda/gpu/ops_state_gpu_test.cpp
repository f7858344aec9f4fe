// SPDX-License-Identifier: Apache-2.0
// Variables, optimizers and random numbers with a CUDA kernel, each against its host kernel.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/op_cases.h"

namespace lanescope::exec::test {
namespace {

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
  for (const char* op : {"ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub"}) {
    CheckOp(Case(op, With(kFloat, nd),
                 {variable, IndicesBelow(40, Shape{9, 1}, 2, kInt32), Random(kFloat, Shape{9, 5}, 3)}, {0}));
  }
  for (const DataType t : {kFloat, kInt64}) {
    CheckOp(Case("SparseToDense", With(t, nd),
                 {Ints({1, 3, 8}), Ints({9}), Random(t, Shape{3}, 1), Random(t, Shape{}, 2)}));
    CheckOp(Case("SparseToDense", With(t, nd),
                 {Ints({4}), Ints({9}), Random(t, Shape{}, 1), Random(t, Shape{}, 2)}));
  }
  CheckOp(
      Case("Bitcast", {{"T", AttrValue(kFloat)}, {"type", AttrValue(kInt32)}}, {Random(kFloat, Shape{3, 5})}),
      1e-5, false);
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
      // A mean whose square is less than the mean of the squares.
      const auto low = [&](uint32_t seed) { return Random(t, shape, seed, -0.2, 0.2); };
      CheckOp(
          Case("ApplyCenteredRMSProp", With(t),
               {at(1), low(2), at(3), low(4), scalar(0.1), scalar(0.9), scalar(0.8), scalar(0.01), low(5)},
               {0, 1, 2, 3}),
          tolerance * 10);
      CheckOp(Case("ApplyProximalAdagrad", With(t),
                   {low(1), at(2), scalar(0.1), scalar(0.5), scalar(0.25), low(3)}, {0, 1}),
              tolerance);
      for (const bool scaled : {false, true}) {
        const AttrMap more = {{"multiply_linear_by_lr", AttrValue(scaled)}};
        for (const double power : {-0.5, -0.75}) {
          CheckOp(Case("ApplyFtrlV2", With(t, more),
                       {low(1), at(2), low(3), at(4), scalar(0.1), scalar(0.5), scalar(0.25), scalar(0.125),
                        scalar(power)},
                       {0, 1, 2}),
                  tolerance * 100);
        }
      }
    }
    const Tensor rows = IndicesBelow(9, Shape{70}, 5, kInt32);
    CheckOp(Case("SparseApplyAdagrad", With(t, {{"Tindices", AttrValue(kInt32)}}),
                 {Random(t, Shape{9, 4}, 1), Random(t, Shape{9, 4}, 2, 1, 2), Random(t, Shape{}, 3, 0.1, 0.2),
                  Random(t, Shape{70, 4}, 4), rows},
                 {0, 1}),
            tolerance * 10);
    CheckOp(Case("SparseApplyFtrl", With(t, {{"Tindices", AttrValue(kInt32)}}),
                 {Random(t, Shape{9, 4}, 1), Random(t, Shape{9, 4}, 2, 1, 2), Random(t, Shape{9, 4}, 3),
                  Random(t, Shape{70, 4}, 4), rows, Random(t, Shape{}, 5, 0.1, 0.2),
                  Random(t, Shape{}, 6, 0.5, 1), Random(t, Shape{}, 7, 0.5, 1),
                  Random(t, Shape{}, 8, -0.9, -0.6)},
                 {0, 1, 2}),
            tolerance * 100);
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
}  // namespace lanescope::exec::test
