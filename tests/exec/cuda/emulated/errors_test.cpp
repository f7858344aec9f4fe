// SPDX-License-Identifier: Apache-2.0
// An op refuses in the same words on every kind of device: TensorFlow's. Where shapes are
// known beforehand inference would have refused these; here they are met at the launch.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/op_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

struct Refusal {
  Node node;
  std::vector<Tensor> inputs;
  std::string text;
  int outputs = 1;
};

std::string RefusalBy(const KernelRegistry& kernels, const Refusal& refusal) {
  const std::unique_ptr<Kernel> kernel = kernels.Create(refusal.node);
  TestTeam team(1);
  const std::vector<OutputPlan> outputs(static_cast<size_t>(refusal.outputs),
                                        {DataType::kFloat, Shape{BoundedDim(64)}});
  TestContext context(refusal.inputs, outputs, team);
  try {
    kernel->Compute(context);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << refusal.node.op;
    return error.message();
  }
  return "nothing";
}

Node Typed(std::string op, AttrMap attrs = {}) {
  attrs.emplace("T", AttrValue(DataType::kFloat));
  return MakeNode(std::move(op), std::move(attrs));
}

Node Windowed(std::string op, int64_t size) {
  return Typed(std::move(op), {{"ksize", IntsAttr({1, size, size, 1})},
                               {"strides", IntsAttr({1, 1, 1, 1})},
                               {"padding", StringAttr("VALID")}});
}

TEST(CudaErrors, AreThoseOfTheHost) {
  const Tensor x = Counting({2, 3});
  const Refusal refusals[] = {
      {MakeNode("ConcatV2"),
       {x, Counting({3, 3}), Ints({1})},
       "ConcatOp : Dimension 0 in both shapes must be equal"},
      {MakeNode("ConcatV2"),
       {x, Counting({2, 3, 1}), Ints({1})},
       "ConcatOp : Ranks of all input tensors should match"},
      {MakeNode("Pack", {{"axis", IntAttr(3)}}), {x, x}, "axis = 3 not in [-3, 3)"},
      {MakeNode("Split"), {Ints({2}), x}, "-input rank(-2) <= split_dim < input rank (2), but got 2", 2},
      {MakeNode("SplitV"), {x, Ints({-2, 5}), Ints({1})}, "Split size at index 0 must be >= 0. Got: -2", 2},
      {MakeNode("Reshape"), {x, Ints({-1, 4})}, "the requested shape requires a multiple of 4"},
      {MakeNode("ExpandDims"), {x, Ints({3})}, "Tried to expand dim index 3 for tensor with 2 dimensions."},
      {MakeNode("Squeeze", {{"squeeze_dims", IntsAttr({3})}}), {x}, "Tried to squeeze dim index 3"},
      {MakeNode("Transpose"), {x, Ints({0, 0})}, "1 is missing from {0,0}."},
      {MakeNode("Tile"), {x, Ints({0, -1})}, "Expected multiples[1] >= 0, but got -1"},
      {MakeNode("ReverseV2"), {x, Ints({1, 2})}, "'axis'[1] = 2 is out of valid range [0, 1"},
      {MakeNode("BroadcastTo"),
       {x, Ints({3})},
       "Rank of input (2) must be no greater than rank of output shape (1)."},
      {MakeNode("Slice"), {x, Ints({3, 0}), Ints({-1, 1})}, "Expected begin[0] in [0, 2], but got 3"},
      {MakeNode("Pad"), {x, Ints({1, 1})}, "paddings must be a matrix with 2 columns: [2]"},
      {MakeNode("GatherV2", {{"batch_dims", IntAttr(3)}}),
       {x, Ints({0}), Ints({0})},
       "Expected batch_dims in the range [-1, 1], but got 3"},
      {MakeNode("Range"),
       {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar(-1.0f)},
       "Requires start >= limit when delta < 0: 0/1"},
      {MakeNode("OneHot", {{"axis", IntAttr(3)}}),
       {Ints({1}), Ints({2}), x, x},
       "Expected axis to be -1 or between [0, 2).  But received: 3"},
      {Windowed("MaxPool", 4), {Counting({1, 2, 2, 1})}, "Computed output size would be negative: -1"},
      {Windowed("AvgPool", 2), {x}, "tensor_in must be 4-dimensional"},
      {Typed("BiasAdd"),
       {x, Counting({2})},
       "Must provide as many biases as the last dimension of the input tensor: [2] vs. [2,3]"},
      {Typed("AddN"),
       {x, Counting({3, 2})},
       "Inputs to operation test_AddN of type AddN must have the same size and shape.  Input 0: [2,3] != "
       "input 1: [3,2]"},
      {Typed("ReluGrad"),
       {x, Counting({3})},
       "must have the same size and shape.  Input 0: [2,3] != input 1: [3]"},
      {Typed("Sum"), {x, Ints({1, -1})}, "Axes contains duplicate dimension: 1"},
      {Typed("ArgMax"),
       {Tensor(DataType::kFloat, Shape{0, 0}), Ints({1})},
       "Reduction axis 1 is empty in shape [0,0]"},
      {Typed("Cumsum"), {x, Ints({2})}, "ScanOp: Expected scan axis in the range [-2, 2), but got 2"},
      {MakeNode("TopKV2"), {x, Ints({4})}, "input must have at least k columns. Had 3, needed 4", 2},
      {Typed("ClipByValue"),
       {x, Counting({1}), Counting({1})},
       "must be either of the same shape as input, or a scalar"},
      {MakeNode("UnsortedSegmentSum"),
       {x, Ints({0, 1}), Tensor::Scalar<int32_t>(-1)},
       "Input num_segments == -1 must not be negative."},
      {MakeNode("SegmentSum"),
       {x, Ints({0})},
       "segment_ids should be the same size as dimension 0 of input."},
      {MakeNode("SparseSegmentSum"),
       {x, Ints({0}), Ints({0, 0})},
       "segment_ids and indices should have same size."},
      {Typed("Where"), {Tensor::Scalar(1.0f)}, "WhereOp : Unhandled input dimensions: 0"},
      {MakeNode("SparseToDense"),
       {Ints({0, 1}), Ints({5, 2}), Counting({2}), Tensor::Scalar(0.0f)},
       "output_shape has incorrect number of elements: 2 should be: 1"},
      {MakeNode("ScatterNd"),
       {Ints({0}), Counting({2}), Ints({4})},
       "updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:]"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string host = RefusalBy(KernelRegistry::Host(), refusal);
    EXPECT_NE(host.find(refusal.text), host.npos) << refusal.node.op << ": " << host;
    EXPECT_EQ(RefusalBy(GpuBackend::Get().kernels(), refusal), host) << refusal.node.op;
  }
}

}  // namespace
}  // namespace lanescope::exec::test
