// SPDX-License-Identifier: Apache-2.0
// An op's signature names what changes its work, and nothing else.
#include "core/graph/signature.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

TensorInfo FloatOf(std::initializer_list<Dim> dims) {
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = Shape(dims);
  return info;
}

Node NodeToSign(const std::string& op) {
  Node node;
  node.name = "n";
  node.op = op;
  return node;
}

TEST(OpSignature, TellsWhatChangesTheWork) {
  const Node node = NodeToSign("MatMul");
  const std::vector<TensorInfo> in = {FloatOf({32, 800}), FloatOf({800, 64})}, out = {FloatOf({32, 64})};
  EXPECT_EQ(OpSignature(node, in, out), "MatMul(float[32,800];float[800,64])->float[32,64]");
}

TEST(OpSignature, LeavesOutWhatDoesNot) {
  Node a = NodeToSign("MadeUp"), b = NodeToSign("MadeUp");
  b.name = "other";
  b.attrs["_private"] = int64_t{7};
  b.attrs["seed"] = int64_t{7};
  b.attrs["T"] = DataType::kFloat;
  EXPECT_EQ(OpSignature(a, {}, {}), OpSignature(b, {}, {}));
  b.attrs["stride"] = int64_t{2};
  EXPECT_EQ(OpSignature(b, {}, {}), "MadeUp()->{stride=2}");
}

TEST(OpSignature, ShowsSmallConstantIntegers) {
  TensorInfo axis = FloatOf({2});
  axis.dtype = DataType::kInt32;
  axis.value = std::make_shared<const Tensor>(Tensor::FromValues<int32_t>(Shape{2}, {0, 1}));
  const std::vector<TensorInfo> in = {FloatOf({4, 4}), axis}, out = {FloatOf({4, 4})};
  EXPECT_EQ(OpSignature(NodeToSign("Transpose"), in, out), "Transpose(float[4,4];int32[2]=0,1)->float[4,4]");
}

}  // namespace
}  // namespace lanescope
