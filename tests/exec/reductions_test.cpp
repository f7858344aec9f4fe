// SPDX-License-Identifier: Apache-2.0
// Reductions, arg and cumulative kernels against plain loops in double.
#include <gtest/gtest.h>

#include <limits>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {
namespace {

Tensor Axes(const std::vector<int32_t>& axes) {
  return Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(axes.size())}, axes);
}

Shape ReducedShape(const Shape& shape, const std::vector<int32_t>& axes, bool keep) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    bool gone = false;
    for (int32_t axis : axes) gone = gone || (axis + shape.rank()) % shape.rank() == i;
    if (!gone) result.Append(shape[i]);
    if (gone && keep) result.Append(1);
  }
  return result;
}

// Visits every element once, in order, and folds it into the kept position.
std::vector<double> Reference(const Tensor& x, const std::vector<int32_t>& axes, double identity,
                              double (*fold)(double, double)) {
  const Shape kept = ReducedShape(x.shape(), axes, true);
  std::vector<double> result(static_cast<size_t>(kept.NumElements()), identity);
  const std::vector<double> values = Values(x);
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    double& total = result[static_cast<size_t>(BroadcastIndex(kept, x.shape(), i))];
    total = fold(total, values[static_cast<size_t>(i)]);
  }
  return result;
}

Node ReductionNode(const std::string& op, DataType dtype, bool keep) {
  return MakeNode(op, {{"T", dtype}, {"Tidx", DataType::kInt32}, {"keep_dims", keep}});
}

struct Case {
  Shape shape;
  std::vector<int32_t> axes;
};
const std::vector<Case> kCases = {{Shape{}, {}},
                                  {Shape{5}, {0}},
                                  {Shape{70001}, {0}},
                                  {Shape{4, 6}, {0}},
                                  {Shape{4, 6}, {1}},
                                  {Shape{4, 6}, {}},
                                  {Shape{4, 6}, {0, 1}},
                                  {Shape{3, 40000}, {-1}},
                                  {Shape{40000, 3}, {0}},
                                  {Shape{3000, 50}, {0}},
                                  {Shape{5, 6, 7}, {1}},
                                  {Shape{5, 6, 7}, {0, 2}},
                                  {Shape{2, 3, 4, 5}, {0, 2}},
                                  {Shape{2, 3, 4, 5}, {1, 3}},
                                  {Shape{8, 24, 24, 64}, {0, 1, 2}},
                                  {Shape{2, 1, 3}, {1}},
                                  {Shape{0, 3}, {0}},
                                  {Shape{3, 0}, {0}}};

TEST(ReductionKernels, FollowTheirLaw) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Law {
    const char* op;
    double identity;
    double (*fold)(double, double);
  };
  const Law laws[] = {{"Sum", 0, [](double a, double b) { return a + b; }},
                      {"Max", -infinity, [](double a, double b) { return std::max(a, b); }},
                      {"Min", infinity, [](double a, double b) { return std::min(a, b); }}};
  for (const Law& law : laws) {
    for (const Case& c : kCases) {
      for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
        for (bool keep : {false, true}) {
          const Tensor x = RandomTensor(dtype, c.shape, 7);
          const Shape shape = ReducedShape(c.shape, c.axes, keep);
          const Tensor y =
              RunKernel(ReductionNode(law.op, dtype, keep), {x, Axes(c.axes)}, {{dtype, shape}}, 2)[0];
          EXPECT_EQ(y.shape(), shape);
          // Sums of n values of size 2 by pairs: the error grows with the logarithm of n.
          const double tolerance = dtype == DataType::kFloat ? 5e-5 : 1e-12;
          ExpectClose(y, Reference(x, c.axes, law.identity, law.fold), tolerance,
                      law.op + c.shape.ToString());
        }
      }
    }
  }
}

TEST(ReductionKernels, MeanProdAndIntegers) {
  const Tensor x = Tensor::FromValues<int32_t>(Shape{2, 3}, {1, -2, 3, -4, 5, -6});
  const auto run = [&](const char* op, const std::vector<int32_t>& axes, const Shape& shape) {
    return Values(RunKernel(ReductionNode(op, DataType::kInt32, false), {x, Axes(axes)},
                            {{DataType::kInt32, shape}})[0]);
  };
  EXPECT_EQ(run("Prod", {1}, Shape{2}), (std::vector<double>{-6, 120}));
  EXPECT_EQ(run("Prod", {}, Shape{2, 3}), (std::vector<double>{1, -2, 3, -4, 5, -6}));
  EXPECT_EQ(run("Mean", {0}, Shape{3}), (std::vector<double>{-1, 1, -1}));
  EXPECT_EQ(run("Max", {0, 1}, Shape{}), (std::vector<double>{5}));
  const Tensor f = RandomTensor(DataType::kFloat, Shape{33, 17}, 9);
  std::vector<double> mean = Reference(f, {0}, 0, [](double a, double b) { return a + b; });
  for (double& value : mean) value /= 33;
  ExpectClose(RunKernel(ReductionNode("Mean", DataType::kFloat, false), {f, Axes({0})},
                        {{DataType::kFloat, Shape{17}}})[0],
              mean, 1e-6, "Mean");
}

// 50000^2 wraps around in 32 bits to less than nothing, whose root is no number: the smallest integer, as of
// Cast.
TEST(ReductionKernels, NormsOfLargeIntegersHaveAValue) {
  const Tensor x = Tensor::FromValues<int32_t>(Shape{2, 2}, {50000, 0, 3, 4});
  EXPECT_EQ(Values(RunKernel(ReductionNode("EuclideanNorm", DataType::kInt32, false), {x, Axes({1})},
                             {{DataType::kInt32, Shape{2}}})[0]),
            (std::vector<double>{std::numeric_limits<int32_t>::min(), 5}));
}

TEST(ReductionKernels, LogicalAndL2Loss) {
  Tensor flags(DataType::kBool, Shape{2, 2});
  flags.data<bool>()[1] = true;
  const auto run = [&](const char* op) {
    const Node node = MakeNode(op, {{"Tidx", DataType::kInt32}, {"keep_dims", false}});
    return Values(RunKernel(node, {flags, Axes({1})}, {{DataType::kBool, Shape{2}}})[0]);
  };
  EXPECT_EQ(run("Any"), (std::vector<double>{1, 0}));
  EXPECT_EQ(run("All"), (std::vector<double>{0, 0}));
  const Tensor x = RandomTensor(DataType::kFloat, Shape{300, 211}, 4);
  double half = 0;
  for (double value : Values(x)) half += value * value / 2;
  const Node node = MakeNode("L2Loss", {{"T", DataType::kFloat}});
  const Tensor one = RunKernel(node, {x}, {{DataType::kFloat, Shape{}}}, 1)[0];
  ExpectClose(one, {half}, 1e-6, "L2Loss");
  EXPECT_TRUE(SameBytes(RunKernel(node, {x}, {{DataType::kFloat, Shape{}}}, 3)[0], one));
}

TEST(ReductionKernels, ResultsDoNotDependOnWorkers) {
  for (const Case& c : kCases) {
    const Tensor x = RandomTensor(DataType::kFloat, c.shape, 8);
    const std::vector<OutputPlan> plan = {{DataType::kFloat, ReducedShape(c.shape, c.axes, false)}};
    const Node node = ReductionNode("Sum", DataType::kFloat, false);
    const Tensor one = RunKernel(node, {x, Axes(c.axes)}, plan, 1)[0];
    EXPECT_TRUE(SameBytes(RunKernel(node, {x, Axes(c.axes)}, plan, 2)[0], one)) << c.shape.ToString();
    EXPECT_TRUE(SameBytes(RunKernel(node, {x, Axes(c.axes)}, plan, 3)[0], one)) << c.shape.ToString();
  }
}

TEST(ReductionKernels, BadAxesAreErrors) {
  const Tensor x = RandomTensor(DataType::kFloat, Shape{2, 3}, 1);
  const std::vector<OutputPlan> plan = {{DataType::kFloat, Shape{2, 3}}};
  EXPECT_THROW(RunKernel(ReductionNode("Sum", DataType::kFloat, false), {x, Axes({2})}, plan), Error);
  EXPECT_THROW(RunKernel(ReductionNode("Sum", DataType::kFloat, false), {x, Axes({0, -2})}, plan), Error);
}

TEST(ReductionKernels, ArgMaxTakesTheFirstAndSkipsNan) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::FromValues<float>(Shape{3, 3}, {1, nan, 3, nan, 2, 5, 4, 4, 2});
  const auto run = [&](const char* op, int32_t axis) {
    const Node node = MakeNode(op, {{"T", DataType::kFloat}, {"output_type", DataType::kInt64}});
    return Values(RunKernel(node, {x, Tensor::Scalar<int32_t>(axis)}, {{DataType::kInt64, Shape{3}}}, 2)[0]);
  };
  EXPECT_EQ(run("ArgMax", 1), (std::vector<double>{2, 2, 0}));
  EXPECT_EQ(run("ArgMin", 0), (std::vector<double>{0, 1, 2}));
}

TEST(ReductionKernels, CumulativeSumsForwardsAndBackwards) {
  const Tensor x = Tensor::FromValues<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](const char* op, bool exclusive, bool reverse, int32_t axis) {
    const Node node = MakeNode(op, {{"T", DataType::kFloat}, {"exclusive", exclusive}, {"reverse", reverse}});
    return Values(RunKernel(node, {x, Tensor::Scalar<int32_t>(axis)}, {{DataType::kFloat, Shape{2, 3}}})[0]);
  };
  EXPECT_EQ(run("Cumsum", false, false, 1), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run("Cumsum", true, true, 1), (std::vector<double>{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(run("Cumprod", false, false, 0), (std::vector<double>{1, 2, 3, 4, 10, 18}));
  EXPECT_EQ(run("Cumprod", true, false, -1), (std::vector<double>{1, 1, 2, 1, 4, 20}));
}

}  // namespace
}  // namespace lanescope::exec::test
