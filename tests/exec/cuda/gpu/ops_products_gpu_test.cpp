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
