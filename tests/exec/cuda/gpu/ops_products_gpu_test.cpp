// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, Einsum and random tensors that follow from a key, each against its host kernel.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/convolution_cases.h"

namespace lanescope::exec::test {
namespace {

const ConvSizes kDepthwise[] = {{Shape{2, 6, 5, 3}, Shape{3, 3, 3, 2}, 1, 1, "SAME"},
                                {Shape{2, 7, 6, 4}, Shape{2, 3, 4, 1}, 2, 1, "VALID"},
                                {Shape{1, 9, 8, 2}, Shape{3, 2, 2, 3}, 1, 2, "SAME"},
                                {Shape{3, 9, 9, 5}, Shape{3, 3, 5, 1}, 2, 1, "SAME"},
                                {Shape{0, 5, 5, 3}, Shape{3, 3, 3, 1}, 1, 1, "SAME"}};

TEST(GpuOps, DepthwiseConvolutions) {
  LANESCOPE_NEEDS_GPU();
  for (const ConvSizes& sizes : kDepthwise) {
    for (const DataType t : {kFloat, kDouble}) {
      const double tolerance = t == kFloat ? 5e-5 : 1e-11;
      CheckOp(DepthwiseCasesOf(sizes, t).forward, tolerance);
      CheckOp(DepthwiseCasesOf(sizes, t).input_grad, tolerance);
      CheckOp(DepthwiseCasesOf(sizes, t).filter_grad, tolerance * 10);
    }
  }
}

TEST(GpuOps, Einsums) {
  LANESCOPE_NEEDS_GPU();
  const auto check = [](const std::string& equation, std::vector<Tensor> inputs) {
    const auto count = static_cast<int64_t>(inputs.size());
    const AttrMap attrs = {{"equation", StringAttr(equation)}, {"N", AttrValue(count)}};
    CheckOp(Case("Einsum", With(kFloat, attrs), std::move(inputs)), 3e-5);
  };
  check("abc,cde->abde", {Random(kFloat, {2, 3, 4}), Random(kFloat, {4, 2, 5}, 2)});
  check("aecd,abcd->acbe", {Random(kFloat, {2, 5, 3, 4}), Random(kFloat, {2, 6, 3, 4}, 2)});
  check("acbe,aecd->abcd", {Random(kFloat, {2, 3, 6, 5}), Random(kFloat, {2, 5, 3, 4}, 2)});
  check("ab,cb->ca", {Random(kFloat, {7, 5}), Random(kFloat, {3, 5}, 2)});
  check("abc->cab", {Random(kFloat, {2, 3, 4})});
  check("ab,bc->ac", {Random(kFloat, {3, 0}), Random(kFloat, {0, 4}, 2)});
  check("abc->ca", {Random(kFloat, {2, 3, 4})});
  check("abc->", {Random(kFloat, {2, 3, 4})});
  check("ab->a", {Random(kFloat, {3, 0})});
  check("abc,cde->dae", {Random(kFloat, {2, 3, 4}), Random(kFloat, {4, 5, 2}, 2)});
  check("abc,dc->a", {Random(kFloat, {2, 3, 4}), Random(kFloat, {5, 4}, 2)});
  check("...ab,...bc->...ac", {Random(kFloat, {3, 1, 2, 4}), Random(kFloat, {5, 4, 2}, 2)});
  check("a...,b...->ab...", {Random(kFloat, {2, 3}), Random(kFloat, {4, 3}, 2)});
  check("aa->a", {Random(kFloat, {40, 40})});
  check("aab->ba", {Random(kFloat, {36, 36, 40})});
  check("aa->", {Random(kFloat, {5, 5})});
  check("a->aa", {Random(kFloat, {40})});
  check("abc->bba", {Random(kFloat, {3, 4, 5})});
  check("aab,bcc->abc", {Random(kFloat, {3, 3, 4}), Random(kFloat, {4, 5, 5}, 2)});
  check("ab,bc->caa", {Random(kFloat, {3, 4}), Random(kFloat, {4, 5}, 2)});
}

// With a diagonal that lets errors not grow.
Tensor Triangular(DataType t, const Shape& shape) {
  Tensor tensor = Random(t, shape, 3, -0.5, 0.5);
  const int64_t n = shape[shape.rank() - 1];
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (i % n != i / n % n) continue;
    if (t == kFloat) tensor.data<float>()[i] += 2;
    if (t == kDouble) tensor.data<double>()[i] += 2;
  }
  return tensor;
}

TEST(GpuOps, TriangularSystems) {
  LANESCOPE_NEEDS_GPU();
  const std::pair<Shape, Shape> cases[] = {{{4, 4}, {4, 3}},       {{1, 1}, {1, 1}},
                                           {{3, 6, 6}, {3, 6, 2}}, {{5, 5}, {4, 5, 2}},
                                           {{2, 3, 3}, {3, 1}},    {{2, 1, 3, 3}, {1, 4, 3, 2}},
                                           {{0, 3, 3}, {0, 3, 2}}};
  for (const auto& [a, b] : cases) {
    for (const bool lower : {true, false}) {
      for (const bool adjoint : {true, false}) {
        const AttrMap attrs = {{"lower", AttrValue(lower)}, {"adjoint", AttrValue(adjoint)}};
        for (const DataType t : {kFloat, kDouble}) {
          CheckOp(Case("MatrixTriangularSolve", With(t, attrs), {Triangular(t, a), Random(t, b, 2)}), 1e-5,
                  false);
        }
      }
    }
  }
}

TEST(GpuOps, ClassesAreTheHosts) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble}) {
    for (const DataType classes : {kInt32, kInt64}) {
      for (const int samples : {0, 1, 7, 400}) {
        AttrMap attrs = {{"output_dtype", AttrValue(classes)}, {"seed", IntAttr(3)}, {"seed2", IntAttr(4)}};
        CheckOp(Case("Multinomial", With(t, attrs), {Random(t, Shape{5, 9}), Number(samples)}), 0, false);
        attrs = {{"output_dtype", AttrValue(classes)}, {"Tseed", AttrValue(kInt64)}};
        CheckOp(Case("StatelessMultinomial", With(t, attrs),
                     {Random(t, Shape{3, 9}), Number(samples), Longs({3, -4})}),
                0, false);
      }
    }
  }
}

Tensor Words(std::vector<uint64_t> values) {
  Tensor tensor(DataType::kUint64, Shape{static_cast<Dim>(values.size())});
  std::memcpy(tensor.raw_data(), values.data(), values.size() * sizeof(uint64_t));
  return tensor;
}

TEST(GpuOps, NumbersThatFollowFromAKey) {
  LANESCOPE_NEEDS_GPU();
  const AttrMap shape_type = {{"Tshape", AttrValue(kInt32)}};
  for (const DataType t : {kFloat, kDouble}) {
    AttrMap attrs = shape_type;
    attrs.emplace("dtype", AttrValue(t));
    for (const char* op :
         {"StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"}) {
      CheckOp(
          Case(op, attrs, {Ints({37, 29}), Words({0x123456789ABCDEF}), Words({5, ~uint64_t{0}}), Number(1)}),
          1e-5, false);
    }
  }
  AttrMap attrs = shape_type;
  attrs.emplace("dtype", AttrValue(kInt64));
  CheckOp(Case("StatelessRandomUniformIntV2", attrs,
               {Ints({1001}), Words({99}), Words({1, 2}), Number(3), Tensor::Scalar<int64_t>(-5),
                Tensor::Scalar<int64_t>(1'000'000)}));
  AttrMap seeded = {{"T", AttrValue(kInt32)}, {"Tseed", AttrValue(kInt64)}, {"dtype", AttrValue(kFloat)}};
  CheckOp(Case("StatelessRandomUniform", seeded, {Ints({5, 7}), Longs({3, -4})}), 1e-6, false);
}

}  // namespace
}  // namespace lanescope::exec::test
