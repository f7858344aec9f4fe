// SPDX-License-Identifier: Apache-2.0
// Random numbers of CUDA kernels, made on the host, against the host's own kernels.
#include "exec/kernels/random_groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/exec/kernel_harness.h"

namespace lanescope::exec::cuda {
namespace {

using test::IntAttr;
using test::MakeNode;
using test::RunKernel;

template <typename T>
void ExpectTheHostsStream(const char* op, Distribution distribution) {
  const int64_t n = 1003;
  const DataType dtype = DataTypeOf<T>::value;
  const Node node = MakeNode(op, {{"dtype", AttrValue(dtype)},
                                  {"T", AttrValue(DataType::kInt32)},
                                  {"seed", IntAttr(87654321)},
                                  {"seed2", IntAttr(5)}});
  const Tensor shape = Tensor::FromValues<int32_t>(Shape{1}, {static_cast<int32_t>(n)});
  const Tensor expected = RunKernel(node, {shape}, {{dtype, Shape{n}}})[0];
  const Philox start(87654321, 5);
  for (int64_t group = 0; group * kGroup<T> < n; ++group) {
    const RandomGroup<T> values = GroupOf<T>(distribution, start, group);
    for (int k = 0; k < kGroup<T> && group * kGroup<T> + k < n; ++k) {
      ASSERT_EQ(values[static_cast<size_t>(k)], expected.data<T>()[group * kGroup<T> + k])
          << op << " " << group;
    }
  }
}

TEST(RandomGroups, RealsAreTheHosts) {
  ExpectTheHostsStream<float>("RandomUniform", Distribution::kUniform);
  ExpectTheHostsStream<double>("RandomUniform", Distribution::kUniform);
  ExpectTheHostsStream<float>("RandomStandardNormal", Distribution::kNormal);
  ExpectTheHostsStream<double>("RandomStandardNormal", Distribution::kNormal);
  ExpectTheHostsStream<float>("TruncatedNormal", Distribution::kTruncatedNormal);
  ExpectTheHostsStream<double>("TruncatedNormal", Distribution::kTruncatedNormal);
}

template <typename T>
void ExpectTheHostsIntegers(T low, T high) {
  const int64_t n = 401;
  const DataType dtype = DataTypeOf<T>::value;
  const Node node = MakeNode("RandomUniformInt", {{"Tout", AttrValue(dtype)},
                                                  {"T", AttrValue(DataType::kInt32)},
                                                  {"seed", IntAttr(9)},
                                                  {"seed2", IntAttr(17)}});
  const Tensor shape = Tensor::FromValues<int32_t>(Shape{1}, {static_cast<int32_t>(n)});
  const Tensor expected =
      RunKernel(node, {shape, Tensor::Scalar<T>(low), Tensor::Scalar<T>(high)}, {{dtype, Shape{n}}})[0];
  const Philox start(9, 17);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (int64_t i = 0; i < n; ++i) {
    Philox philox = start;
    philox.Skip(static_cast<uint64_t>(i / kGroup<T>));
    const auto values = IntegerGroup(philox.Next(), low, range, T{});
    ASSERT_EQ(values[static_cast<size_t>(i % kGroup<T>)], expected.data<T>()[i]) << i;
  }
}

TEST(RandomGroups, IntegersAreTheHosts) {
  ExpectTheHostsIntegers<int32_t>(-5, 1000);
  ExpectTheHostsIntegers<int64_t>(-5, int64_t{1} << 40);
}

}  // namespace
}  // namespace lanescope::exec::cuda
