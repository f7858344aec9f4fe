// SPDX-License-Identifier: Apache-2.0
// Variables and their updates.
#include <gtest/gtest.h>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

// A variable beside the memory that it owns.
struct OwnedVariable {
  explicit OwnedVariable(const Tensor& value, bool initialized = true)
      : memory(value.dtype(), value.shape()) {
    std::memcpy(memory.raw_data(), value.raw_data(), static_cast<size_t>(value.ByteSize()));
    variable.tensor = RefTo(memory);
    variable.initialized = initialized;
  }
  Tensor memory;
  Variable variable;
};

// Input 0 is the variable.
void Update(const Node& node, OwnedVariable& target, std::vector<Tensor> inputs, int workers = 1) {
  inputs.insert(inputs.begin(), Tensor());
  TestTeam team(workers);
  TestContext context(std::move(inputs), {}, team, {{0, &target.variable}});
  KernelRegistry::Host().Create(node)->Compute(context);
}

Tensor Read(const Node& node, OwnedVariable& source, const OutputPlan& plan) {
  TestTeam team(1);
  TestContext context({Tensor()}, {plan}, team, {{0, &source.variable}});
  KernelRegistry::Host().Create(node)->Compute(context);
  return context.Result();
}

TEST(Assign, ReplacesTheValue) {
  OwnedVariable v(Floats({2}, {0, 0}), false);
  EXPECT_FALSE(Read(MakeNode("IsVariableInitialized"), v, {DataType::kBool, {}}).data<bool>()[0]);
  Update(MakeNode("Assign"), v, {Floats({2}, {3, 4})});
  EXPECT_TRUE(Read(MakeNode("VarIsInitializedOp"), v, {DataType::kBool, {}}).data<bool>()[0]);
  ExpectBitwiseEqual(Read(MakeNode("ReadVariableOp"), v, {kF, {2}}), Floats({2}, {3, 4}));
  ExpectError(Code::kInvalidArgument,
              "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [1]",
              [&] { Update(MakeNode("Assign"), v, {Floats({1}, {3})}); });
  Update(MakeNode("Assign", {{"validate_shape", false}}), v, {Floats({1, 1}, {9})});
  EXPECT_EQ(v.variable.tensor.shape, Shape({1, 1}));
  ExpectError(Code::kResourceExhausted, "does not fit", [&] {
    Update(MakeNode("Assign", {{"validate_shape", false}}), v, {Counting({5})});
  });
  Update(MakeNode("DestroyResourceOp"), v, {});
  EXPECT_FALSE(v.variable.initialized);
}

TEST(AssignAddSub, UpdateInPlace) {
  OwnedVariable v(Longs({1, 2}));
  Update(MakeNode("AssignAdd"), v, {Longs({10, 20})});
  Update(MakeNode("AssignSubVariableOp"), v, {Longs({1, 1})});
  EXPECT_EQ(ListOf<int64_t>(v.memory), (std::vector<int64_t>{10, 21}));
  ExpectError(Code::kInvalidArgument, "Cannot update variable with shape [2] using a Tensor with shape [1]",
              [&] { Update(MakeNode("AssignAdd"), v, {Longs({1})}); });
}

TEST(CountUpTo, StopsAtItsLimit) {
  OwnedVariable v(Values<int32_t>({}, {1}));
  const Node node = MakeNode("CountUpTo", {{"limit", IntAttr(2)}});
  EXPECT_EQ(Read(node, v, {DataType::kInt32, {}}).data<int32_t>()[0], 1);
  EXPECT_EQ(v.memory.data<int32_t>()[0], 2);
  ExpectError(Code::kOutOfRange, "Reached limit of 2", [&] { Read(node, v, {DataType::kInt32, {}}); });
}

TEST(Scatter, RepeatedRowsApplyInOrder) {
  const auto scattered = [](const std::string& op, std::vector<float> updates) {
    OwnedVariable v(Floats({3, 1}, {2, 4, 8}));
    Update(MakeNode(op), v, {Ints({2, 0, 2}), Floats({3, 1}, std::move(updates))});
    return ListOf<float>(v.memory);
  };
  using List = std::vector<float>;
  EXPECT_EQ(scattered("ScatterUpdate", {1, 2, 3}), (List{2, 4, 3}));
  EXPECT_EQ(scattered("ScatterAdd", {1, 2, 3}), (List{4, 4, 12}));
  EXPECT_EQ(scattered("ScatterSub", {1, 2, 3}), (List{0, 4, 4}));
  EXPECT_EQ(scattered("ResourceScatterMul", {1, 2, 3}), (List{4, 4, 24}));
  EXPECT_EQ(scattered("ScatterDiv", {2, 2, 4}), (List{1, 4, 1}));
  EXPECT_EQ(scattered("ScatterMin", {1, 5, 3}), (List{2, 4, 1}));
  EXPECT_EQ(scattered("ScatterMax", {1, 5, 9}), (List{5, 4, 9}));
}

TEST(Scatter, OneNumberForAllRows) {
  OwnedVariable v(Floats({2, 6}, std::vector<float>(12, 1)));
  Update(MakeNode("ScatterAdd"), v, {Tensor::Scalar<int64_t>(1), Tensor::Scalar(2.0f)});
  EXPECT_EQ(ListOf<float>(v.memory), (std::vector<float>{1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3}));
}

TEST(Scatter, RefusesBadInput) {
  OwnedVariable v(Longs({1, 2}));
  ExpectError(Code::kInvalidArgument, "indices[0] = 2 is not in [0, 2)", [&] {
    Update(MakeNode("ScatterAdd"), v, {Ints({2}), Longs({1})});
  });
  ExpectError(Code::kInvalidArgument, "Must have updates.shape = indices.shape + params.shape[1:]", [&] {
    Update(MakeNode("ScatterAdd"), v, {Ints({0}), Longs({1, 1})});
  });
  ExpectError(Code::kInvalidArgument, "Integer division by zero", [&] {
    Update(MakeNode("ScatterDiv"), v, {Ints({0}), Longs({0})});
  });
  EXPECT_EQ(ListOf<int64_t>(v.memory), (std::vector<int64_t>{1, 2}));
}

TEST(Scatter, LargeAddsAreInIndexOrder) {
  const int64_t rows = 9000;
  const int64_t count = 51200;
  const Tensor start = Noise({rows, 50}, 3);
  const Tensor updates = Noise({count, 50}, 4);
  Tensor indices(DataType::kInt64, {count});
  for (int64_t i = 0; i < count; ++i) indices.data<int64_t>()[i] = i * i % rows;
  OwnedVariable expected(start);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < 50; ++k) {
      expected.memory.data<float>()[indices.data<int64_t>()[i] * 50 + k] += updates.data<float>()[i * 50 + k];
    }
  }
  for (const int workers : {1, 2, 5}) {
    OwnedVariable v(start);
    Update(MakeNode("ScatterAdd"), v, {indices, updates}, workers);
    ExpectBitwiseEqual(v.memory, expected.memory);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
