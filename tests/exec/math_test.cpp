// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels against plain double arithmetic: law of each op, broadcasting, errors, in-place use,
// and equality for any number of workers.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {
namespace {

Node TypedNode(const std::string& op, DataType dtype) { return MakeNode(op, {{"T", dtype}}); }

const std::map<std::string, double (*)(double)> kUnary = {
    {"Abs", [](double x) { return std::abs(x); }},
    {"Neg", [](double x) { return -x; }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"Square", [](double x) { return x * x; }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Expm1", [](double x) { return std::expm1(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Erfc", [](double x) { return std::erfc(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Rint", [](double x) { return std::nearbyint(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Relu", [](double x) { return x > 0 ? x : 0; }},
    {"Relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"Selu", [](double x) { return x < 0 ? 1.7580993408473766 * std::expm1(x) : 1.0507009873554805 * x; }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }}};

const std::map<std::string, double (*)(double)> kUnaryPositive = {
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"Inv", [](double x) { return 1 / x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Log", [](double x) { return std::log(x); }},
    {"Log1p", [](double x) { return std::log1p(x); }},
    {"Lgamma", [](double x) { return std::lgamma(x); }},
    {"Tan", [](double x) { return std::tan(x); }}};

void CheckUnary(const std::map<std::string, double (*)(double)>& ops, double low, double high) {
  for (const auto& [op, law] : ops) {
    for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7, 3}, Shape{40001}}) {
        const Tensor x = RandomTensor(dtype, shape, 11, low, high);
        std::vector<double> expected;
        for (double value : Values(x)) expected.push_back(law(value));
        const Tensor y = RunKernel(TypedNode(op, dtype), {x}, {{dtype, shape}}, 2)[0];
        ExpectClose(y, expected, ToleranceOf(dtype), op);
      }
    }
  }
}

TEST(MathKernels, UnaryFollowsItsLaw) {
  CheckUnary(kUnary, -3, 3);
  CheckUnary(kUnaryPositive, 0.05, 1.5);
}

const std::map<std::string, double (*)(double, double)> kBinary = {
    {"Add", [](double a, double b) { return a + b; }},
    {"AddV2", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"RealDiv", [](double a, double b) { return a / b; }},
    {"DivNoNan", [](double a, double b) { return b == 0 ? 0 : a / b; }},
    {"MulNoNan", [](double a, double b) { return b == 0 ? 0 : a * b; }},
    {"Maximum", [](double a, double b) { return std::max(a, b); }},
    {"Minimum", [](double a, double b) { return std::min(a, b); }},
    {"SquaredDifference", [](double a, double b) { return (a - b) * (a - b); }},
    {"Atan2", [](double a, double b) { return std::atan2(a, b); }}};

const std::vector<std::pair<Shape, Shape>> kBroadcasts = {{Shape{}, Shape{}},
                                                          {Shape{2, 3}, Shape{}},
                                                          {Shape{}, Shape{2, 3}},
                                                          {Shape{4, 5}, Shape{5}},
                                                          {Shape{4, 1}, Shape{1, 5}},
                                                          {Shape{2, 3, 4, 5}, Shape{3, 1, 5}},
                                                          {Shape{0, 3}, Shape{1, 3}},
                                                          {Shape{3, 1, 2}, Shape{1, 4, 1}},
                                                          {Shape{300, 131}, Shape{131}},
                                                          {Shape{300, 131}, Shape{300, 1}},
                                                          {Shape{1}, Shape{0}},
                                                          {Shape{2, 1, 3, 1, 2}, Shape{1, 5, 1, 4, 1}}};

TEST(MathKernels, BinaryFollowsItsLawUnderBroadcasting) {
  for (const auto& [op, law] : kBinary) {
    for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      for (const auto& [left, right] : kBroadcasts) {
        const Tensor a = RandomTensor(dtype, left, 1, 0.5, 3);
        const Tensor b = RandomTensor(dtype, right, 2, 0.5, 3);
        const Shape shape = BroadcastShapes(left, right);
        const std::vector<double> va = Values(a);
        const std::vector<double> vb = Values(b);
        std::vector<double> expected;
        for (int64_t i = 0; i < shape.NumElements(); ++i) {
          expected.push_back(law(va[static_cast<size_t>(BroadcastIndex(left, shape, i))],
                                 vb[static_cast<size_t>(BroadcastIndex(right, shape, i))]));
        }
        const Tensor y = RunKernel(TypedNode(op, dtype), {a, b}, {{dtype, shape}}, 3)[0];
        ExpectClose(y, expected, ToleranceOf(dtype), op + left.ToString() + right.ToString());
      }
    }
  }
}

TEST(MathKernels, IntegerDivisionRoundsAsItsName) {
  const Tensor a = Tensor::FromValues<int32_t>(Shape{5}, {-7, 7, -7, 7, std::numeric_limits<int32_t>::min()});
  const Tensor b = Tensor::FromValues<int32_t>(Shape{5}, {2, -2, -2, 2, -1});
  const auto run = [&](const char* op) {
    return Values(RunKernel(TypedNode(op, DataType::kInt32), {a, b}, {{DataType::kInt32, Shape{5}}})[0]);
  };
  const double least = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(run("Div"), (std::vector<double>{-3, -3, 3, 3, least}));
  EXPECT_EQ(run("TruncateDiv"), (std::vector<double>{-3, -3, 3, 3, least}));
  EXPECT_EQ(run("FloorDiv"), (std::vector<double>{-4, -4, 3, 3, least}));
  EXPECT_EQ(run("FloorMod"), (std::vector<double>{1, -1, -1, 1, 0}));
  EXPECT_EQ(run("Mod"), (std::vector<double>{-1, 1, -1, 1, 0}));
}

TEST(MathKernels, IntegerErrors) {
  const Tensor a = Tensor::FromValues<int64_t>(Shape{2}, {1, 2});
  const Tensor zero = Tensor::Scalar<int64_t>(0);
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "TruncateDiv", "Mod"}) {
    EXPECT_THROW(RunKernel(TypedNode(op, DataType::kInt64), {a, zero}, {{DataType::kInt64, Shape{2}}}), Error)
        << op;
  }
  const Tensor minus = Tensor::Scalar<int64_t>(-1);
  EXPECT_THROW(RunKernel(TypedNode("Pow", DataType::kInt64), {a, minus}, {{DataType::kInt64, Shape{2}}}),
               Error);
  const Tensor empty(DataType::kInt64, Shape{0});
  EXPECT_NO_THROW(
      RunKernel(TypedNode("Div", DataType::kInt64), {empty, zero}, {{DataType::kInt64, Shape{0}}}));
}

TEST(MathKernels, NanWinsMaximumAndMinimum) {
  const float nan = std::nanf("");
  const Tensor a = Tensor::FromValues<float>(Shape{4}, {nan, 1, nan, -0.0f});
  const Tensor b = Tensor::FromValues<float>(Shape{4}, {1, nan, nan, 0.0f});
  for (const char* op : {"Maximum", "Minimum"}) {
    const auto y =
        Values(RunKernel(TypedNode(op, DataType::kFloat), {a, b}, {{DataType::kFloat, Shape{4}}})[0]);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2])) << op;
    EXPECT_TRUE(std::signbit(y[3])) << op;
  }
  const auto relu =
      Values(RunKernel(TypedNode("Relu", DataType::kFloat), {a}, {{DataType::kFloat, Shape{4}}})[0]);
  EXPECT_TRUE(std::isnan(relu[0]));
}

TEST(MathKernels, GradientsAreDerivatives) {
  struct Case {
    const char* op;
    bool of_output;  // arguments (y, dy) rather than (dy, x)
    double (*law)(double dy, double v);
  };
  const Case cases[] = {
      {"TanhGrad", true, [](double dy, double y) { return dy * (1 - y * y); }},
      {"SigmoidGrad", true, [](double dy, double y) { return dy * y * (1 - y); }},
      {"SqrtGrad", true, [](double dy, double y) { return dy * 0.5 / y; }},
      {"RsqrtGrad", true, [](double dy, double y) { return -0.5 * dy * y * y * y; }},
      {"InvGrad", true, [](double dy, double y) { return -dy * y * y; }},
      {"ReciprocalGrad", true, [](double dy, double y) { return -dy * y * y; }},
      {"ReluGrad", false, [](double dy, double x) { return x > 0 ? dy : 0; }},
      {"Relu6Grad", false, [](double dy, double x) { return x > 0 && x < 6 ? dy : 0; }},
      {"EluGrad", false, [](double dy, double y) { return y < 0 ? dy * (y + 1) : dy; }},
      {"SoftplusGrad", false, [](double dy, double x) { return dy / (1 + std::exp(-x)); }},
      {"SoftsignGrad", false,
       [](double dy, double x) { return dy / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
  };
  for (const Case& c : cases) {
    const Tensor first = RandomTensor(DataType::kFloat, Shape{5, 7}, 3, -1, 1);
    const Tensor second = RandomTensor(DataType::kFloat, Shape{5, 7}, 4, -1, 1);
    const std::vector<double> a = Values(first);
    const std::vector<double> b = Values(second);
    std::vector<double> expected;
    for (size_t i = 0; i < a.size(); ++i)
      expected.push_back(c.of_output ? c.law(b[i], a[i]) : c.law(a[i], b[i]));
    const std::vector<OutputPlan> plan = {{DataType::kFloat, Shape{5, 7}}};
    ExpectClose(RunKernel(TypedNode(c.op, DataType::kFloat), {first, second}, plan)[0], expected, 2e-6, c.op);
  }
}

TEST(MathKernels, ResultsDoNotDependOnWorkersOrOnSharingMemory) {
  const Tensor a = RandomTensor(DataType::kFloat, Shape{701, 130}, 5);
  const Tensor b = RandomTensor(DataType::kFloat, Shape{130}, 6);
  const Node node = TypedNode("Mul", DataType::kFloat);
  const std::vector<OutputPlan> plan = {{DataType::kFloat, a.shape()}};
  const Tensor one = RunKernel(node, {a, b}, plan, 1)[0];
  EXPECT_TRUE(SameBytes(RunKernel(node, {a, b}, plan, 2)[0], one));
  EXPECT_TRUE(SameBytes(RunKernel(node, {a, b}, plan, 3)[0], one));
  Tensor copy(DataType::kFloat, a.shape());
  std::memcpy(copy.raw_data(), a.raw_data(), static_cast<size_t>(a.ByteSize()));
  EXPECT_TRUE(SameBytes(RunKernel(node, {copy, b}, plan, 2, true)[0], one));
}

// A tolerance that an integer cannot hold becomes one as by Cast: the smallest, which nothing is under.
TEST(MathKernels, IntegersAreNearByAnyTolerance) {
  const Tensor a = Tensor::FromValues<int64_t>(Shape{2}, {1, 7});
  const Tensor b = Tensor::FromValues<int64_t>(Shape{2}, {2, 7});
  const auto run = [&](float tolerance) {
    const Node node = MakeNode("ApproximateEqual", {{"T", DataType::kInt64}, {"tolerance", tolerance}});
    return Values(RunKernel(node, {a, b}, {{DataType::kBool, Shape{2}}})[0]);
  };
  EXPECT_EQ(run(1.5F), (std::vector<double>{0, 1}));
  for (const float odd : {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(),
                          std::nanf(""), 1e30F})
    EXPECT_EQ(run(odd), (std::vector<double>{0, 0})) << odd;
}

TEST(MathKernels, ComparisonsAndLogic) {
  const Tensor a = Tensor::FromValues<float>(Shape{3}, {1, 2, std::nanf("")});
  const Tensor b = Tensor::FromValues<float>(Shape{2, 1}, {1, 2});
  const std::vector<OutputPlan> plan = {{DataType::kBool, Shape{2, 3}}};
  const auto run = [&](const char* op) {
    return Values(RunKernel(TypedNode(op, DataType::kFloat), {a, b}, plan)[0]);
  };
  EXPECT_EQ(run("Equal"), (std::vector<double>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run("NotEqual"), (std::vector<double>{0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(run("Less"), (std::vector<double>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(run("LessEqual"), (std::vector<double>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(run("Greater"), (std::vector<double>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(run("GreaterEqual"), (std::vector<double>{1, 1, 0, 0, 1, 0}));
  Tensor words(DataType::kString, Shape{2});
  words.data<std::string>()[0] = "lane";
  words.data<std::string>()[1] = "scope";
  Tensor word(DataType::kString, Shape{});
  word.data<std::string>()[0] = "scope";
  const std::vector<OutputPlan> two = {{DataType::kBool, Shape{2}}};
  EXPECT_EQ(Values(RunKernel(TypedNode("Equal", DataType::kString), {words, word}, two)[0]),
            (std::vector<double>{0, 1}));
}

TEST(MathKernels, SelectPicksByRowOrElement) {
  Tensor rows(DataType::kBool, Shape{2});
  rows.data<bool>()[0] = true;
  const Tensor x = Tensor::FromValues<float>(Shape{2, 2}, {1, 2, 3, 4});
  const Tensor y = Tensor::FromValues<float>(Shape{2, 2}, {5, 6, 7, 8});
  const std::vector<OutputPlan> plan = {{DataType::kFloat, Shape{2, 2}}};
  EXPECT_EQ(Values(RunKernel(TypedNode("Select", DataType::kFloat), {rows, x, y}, plan)[0]),
            (std::vector<double>{1, 2, 7, 8}));
  EXPECT_EQ(Values(RunKernel(TypedNode("SelectV2", DataType::kFloat), {rows, x, y}, plan)[0]),
            (std::vector<double>{1, 6, 3, 8}));
}

TEST(MathKernels, AddNSumsInOrderEvenOverItsOwnInput) {
  const Tensor a = RandomTensor(DataType::kFloat, Shape{50001}, 1);
  const Tensor b = RandomTensor(DataType::kFloat, Shape{50001}, 2);
  const Tensor c = RandomTensor(DataType::kFloat, Shape{50001}, 3);
  Tensor expected(DataType::kFloat, Shape{50001});
  for (int64_t i = 0; i < 50001; ++i) {
    expected.data<float>()[i] = (a.data<float>()[i] + b.data<float>()[i]) + c.data<float>()[i];
  }
  const std::vector<OutputPlan> plan = {{DataType::kFloat, a.shape()}};
  EXPECT_TRUE(SameBytes(RunKernel(TypedNode("AddN", DataType::kFloat), {a, b, c}, plan, 2)[0], expected));
  EXPECT_TRUE(
      SameBytes(RunKernel(TypedNode("AddN", DataType::kFloat), {a, b, c}, plan, 2, true)[0], expected));
}

TEST(MathKernels, CastTruncatesTowardZero) {
  const Tensor x = Tensor::FromValues<float>(Shape{4}, {-1.9f, 1.9f, 0.0f, std::nanf("")});
  const auto run = [&](DataType to) {
    return Values(
        RunKernel(MakeNode("Cast", {{"SrcT", DataType::kFloat}, {"DstT", to}}), {x}, {{to, Shape{4}}})[0]);
  };
  EXPECT_EQ(run(DataType::kInt32), (std::vector<double>{-1, 1, 0, std::numeric_limits<int32_t>::min()}));
  EXPECT_EQ(run(DataType::kBool), (std::vector<double>{1, 1, 0, 1}));
}

}  // namespace
}  // namespace lanescope::exec::test
