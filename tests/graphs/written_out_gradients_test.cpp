// SPDX-License-Identifier: Apache-2.0
// Derivatives of ops whose gradients TensorFlow does not have, or has only of arguments that do not depend on
// each other, and of lookups in variables behind handles; beside differences.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graphs/gradients.h"
#include "graphs/ops.h"
#include "tests/graphs/differences.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;

template <typename T>
Tensor Numbers(const lanescope::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(DataTypeOf<T>::value, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    tensor.data<T>()[i] = static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 1);
  return tensor;
}

double ValueOf(const Graph& graph, const Tensors& feeds, const std::string& y) {
  ReferenceInterpreter session(graph);
  return NumberAt(session.Run(feeds, {y})[0], 0);
}

// By every element of the float x: what y gains over a step, within what floats can say.
void ExpectSlopes(const Graph& graph, const Tensors& feeds, const std::string& y, const std::string& x,
                  const std::string& gradient, double step, double within) {
  ReferenceInterpreter session(graph);
  const Tensor found = session.Run(feeds, {gradient})[0];
  for (int64_t k = 0; k < found.NumElements(); ++k) {
    const auto beside = [&](double by) {
      Tensors moved = feeds;
      moved[x] = CopyOf(feeds.at(x));
      moved[x].data<float>()[k] += static_cast<float>(by);
      return ValueOf(graph, moved, y);
    };
    const double difference = (beside(step) - beside(-step)) / (2 * step);
    EXPECT_NEAR(NumberAt(found, k), difference, within * (1 + std::abs(difference))) << x << " element " << k;
  }
}

// Law: of y = f(x), and z = sum(x * dsum(y^2)/dx): dz/dx. Both the gradient of y and x are functions of x.
void ExpectSecondDerivative(Scope* s, Endpoint x, Endpoint y, const Tensors& feeds, double within) {
  const Endpoint loss = op::Sum(*s, op::Square(*s, y), {0, 1, 2, 3});
  const Gradient first = Gradients(*s, {loss}, {x})[0];
  const Endpoint z = op::Sum(*s, op::Mul(*s, first.dense(), x), {0, 1, 2, 3});
  const Gradient second = Gradients(*s, {z}, {x})[0];
  const auto name = [&](Endpoint e) { return s->graph().TensorName(e); };
  ExpectSlopes(s->graph(), feeds, name(loss), "x", name(first.dense()), 1e-2, within);
  ExpectSlopes(s->graph(), feeds, name(z), "x", name(second.dense()), 1e-2, within);
}

TEST(WrittenOutGradients, OfLocalResponseNormalisation) {
  for (const int64_t radius : {1, 7}) {
    SCOPED_TRACE(radius);
    Scope s;
    const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {1, 2, 1, 4}});
    const Endpoint y = op::LRN(s, x, {.depth_radius = radius, .bias = 2, .alpha = 0.7f, .beta = 0.6f});
    ExpectSecondDerivative(&s, x, y, {{"x", Numbers<float>({1, 2, 1, 4}, 1)}}, 2e-3);
  }
}

TEST(WrittenOutGradients, OfBatchNormalisation) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {4, 1, 2, 2}});
  const Endpoint scale = op::Const(s, Numbers<float>({2}, 2)), offset = op::Const(s, Numbers<float>({2}, 3));
  const Endpoint none = op::Const(s, Tensor(DataType::kFloat, lanescope::Shape{0}));
  const Endpoint y = op::FusedBatchNormV3(s, x, scale, offset, none, none, {.epsilon = 0.5f}).y;
  ExpectSecondDerivative(&s, x, y, {{"x", Numbers<float>({4, 1, 2, 2}, 4)}}, 1e-2);
}

TEST(WrittenOutGradients, OfResizedImagesAndSoftsign) {
  for (const int which : {0, 1, 2}) {
    SCOPED_TRACE(which);
    Scope s;
    const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {1, 2, 3, 2}});
    Endpoint y;
    if (which == 0) y = op::ResizeBilinear(s, x, {3, 5}, {.half_pixel_centers = true});
    if (which == 1) y = op::ResizeNearestNeighbor(s, x, {3, 5});
    if (which == 2) y = op::Softsign(s, op::AddV2(s, x, 1.5));
    ExpectSecondDerivative(&s, x, y, {{"x", Numbers<float>({1, 2, 3, 2}, 8)}}, 2e-3);
  }
}

// A variable behind a handle that begins with what is fed.
struct Table {
  explicit Table(Scope* s) {
    const Endpoint first = op::Placeholder(*s, DataType::kDouble, {.name = "first", .shape = {4, 3}});
    handle = op::VarHandleOp(*s, DataType::kDouble, {4, 3}, {.name = "table"});
    op::AssignVariableOp(*s, handle, first, {.name = "init"});
  }
  Endpoint handle;
};

// Law: d(sum of w * y^2) by the table is 2 w y at the rows or elements that y took, added up where they are
// the same ones.
void ExpectLookupGradient(bool elements) {
  Scope s;
  const Table table(&s);
  const Tensor indices =
      elements ? Tensor::FromValues(lanescope::Shape{3, 2}, std::vector<int32_t>{1, 2, 3, 0, 1, 2})
               : Tensor::FromValues(lanescope::Shape{3, 1}, std::vector<int32_t>{2, 0, 2});
  const Endpoint y = op::ResourceGatherNd(s, table.handle, op::Const(s, indices), DataType::kDouble);
  const Endpoint w = op::Const(s, Numbers<double>(s.ShapeOf(y), 5));
  const std::vector<int> axes = elements ? std::vector<int>{0} : std::vector<int>{0, 1};
  const Endpoint loss = op::Sum(s, op::Mul(s, w, op::Square(s, y)), axes, {.name = "loss"});
  const Gradient gradient = Gradients(s, {loss}, {table.handle})[0];
  EXPECT_EQ(gradient.is_slices(), !elements);
  const std::string name = s.graph().TensorName(gradient.ToDense(s));
  ExpectDerivative(s.graph(), {{"first", Numbers<double>({4, 3}, 6)}}, "loss", "first", name, {"init"});
}

TEST(LookupGradients, OfRowsBehindAHandle) { ExpectLookupGradient(false); }
TEST(LookupGradients, OfElementsBehindAHandle) { ExpectLookupGradient(true); }

TEST(LookupGradients, OfResourceGather) {
  Scope s;
  const Table table(&s);
  const Endpoint y = op::ResourceGather(s, table.handle, op::Const(s, {1, 3, 1}), DataType::kDouble);
  const Endpoint loss = op::Sum(s, op::Exp(s, y), {0, 1}, {.name = "loss"});
  const Gradient gradient = Gradients(s, {loss}, {table.handle})[0];
  EXPECT_TRUE(gradient.is_slices());
  const std::string name = s.graph().TensorName(gradient.ToDense(s));
  ExpectDerivative(s.graph(), {{"first", Numbers<double>({4, 3}, 7)}}, "loss", "first", name, {"init"});
}

}  // namespace
}  // namespace lanescope::graphs
