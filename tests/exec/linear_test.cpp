// SPDX-License-Identifier: Apache-2.0
// Matrix products against triple loops in double.
#include <gtest/gtest.h>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {
namespace {

std::vector<double> Product(const Tensor& a, const Tensor& b, int64_t m, int64_t n, int64_t k, bool ta,
                            bool tb) {
  const std::vector<double> va = Values(a);
  const std::vector<double> vb = Values(b);
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        c[static_cast<size_t>(i * n + j)] += va[static_cast<size_t>(ta ? l * m + i : i * k + l)] *
                                             vb[static_cast<size_t>(tb ? j * k + l : l * n + j)];
      }
    }
  }
  return c;
}

Node MatMulNode(DataType dtype, bool ta, bool tb) {
  return MakeNode("MatMul", {{"T", dtype}, {"transpose_a", ta}, {"transpose_b", tb}});
}

TEST(LinearKernels, MatMulOfAllOrders) {
  const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},     {17, 1, 9},    {1, 13, 8},   {0, 3, 2},
                              {3, 0, 2},     {2, 3, 0},     {1100, 6, 5},  {5, 700, 3},  {32, 64, 2500},
                              {200, 70, 40}, {97, 65, 600}, {1, 1000, 40}, {1000, 1, 40}};
  for (const auto& [m, n, k] : sizes) {
    for (int order = 0; order < 4; ++order) {
      const bool ta = order % 2 != 0;
      const bool tb = order / 2 != 0;
      for (DataType dtype : {DataType::kFloat, DataType::kDouble, DataType::kInt32}) {
        const Tensor a = RandomTensor(dtype, ta ? Shape{k, m} : Shape{m, k}, 1);
        const Tensor b = RandomTensor(dtype, tb ? Shape{n, k} : Shape{k, n}, 2);
        const std::vector<OutputPlan> plan = {{dtype, Shape{m, n}}};
        const Tensor one = RunKernel(MatMulNode(dtype, ta, tb), {a, b}, plan, 1)[0];
        const double tolerance = dtype == DataType::kFloat ? 1e-4 : 1e-11;
        ExpectClose(one, Product(a, b, m, n, k, ta, tb), tolerance, "MatMul");
        EXPECT_TRUE(SameBytes(RunKernel(MatMulNode(dtype, ta, tb), {a, b}, plan, 3)[0], one));
      }
    }
  }
}

TEST(LinearKernels, BatchesBroadcast) {
  const Tensor a = RandomTensor(DataType::kFloat, Shape{2, 1, 3, 4}, 1);
  const Tensor b = RandomTensor(DataType::kFloat, Shape{5, 6, 4}, 2);
  const Node node = MakeNode("BatchMatMulV2", {{"T", DataType::kFloat}, {"adj_x", false}, {"adj_y", true}});
  const Tensor c = RunKernel(node, {a, b}, {{DataType::kFloat, Shape{2, 5, 3, 6}}}, 2)[0];
  std::vector<double> expected;
  for (int64_t batch = 0; batch < 10; ++batch) {
    Tensor left(DataType::kFloat, Shape{3, 4});
    Tensor right(DataType::kFloat, Shape{6, 4});
    std::copy_n(a.data<float>() + batch / 5 * 12, 12, left.data<float>());
    std::copy_n(b.data<float>() + batch % 5 * 24, 24, right.data<float>());
    for (double value : Product(left, right, 3, 6, 4, false, true)) expected.push_back(value);
  }
  ExpectClose(c, expected, 1e-5, "BatchMatMulV2");
}

TEST(LinearKernels, MismatchesAreErrors) {
  const Tensor a(DataType::kFloat, Shape{2, 3});
  const std::vector<OutputPlan> plan = {{DataType::kFloat, Shape{2, 3}}};
  EXPECT_THROW(RunKernel(MatMulNode(DataType::kFloat, false, false), {a, a}, plan), Error);
  EXPECT_THROW(
      RunKernel(MatMulNode(DataType::kFloat, false, false), {a, Tensor(DataType::kFloat, Shape{3})}, plan),
      Error);
}

}  // namespace
}  // namespace lanescope::exec::test
