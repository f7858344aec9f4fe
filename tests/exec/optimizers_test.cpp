// SPDX-License-Identifier: Apache-2.0
// Optimizer steps against the documented formulas in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

// A launch of one optimizer: the variable and its slots first, then the other inputs.
struct Launch {
  std::vector<Tensor> state;
  std::vector<Tensor> others;
};

std::vector<Tensor> Step(const Node& node, const Launch& launch, int workers = 1) {
  std::vector<Tensor> memory;
  std::vector<Variable> variables(launch.state.size());
  std::vector<Tensor> inputs(launch.state.size());
  std::map<int, Variable*> by_input;
  for (size_t i = 0; i < launch.state.size(); ++i) {
    memory.emplace_back(launch.state[i].dtype(), launch.state[i].shape());
    std::memcpy(memory[i].raw_data(), launch.state[i].raw_data(), static_cast<size_t>(memory[i].ByteSize()));
    variables[i] = {RefTo(memory[i]), true};
    by_input[static_cast<int>(i)] = &variables[i];
  }
  inputs.insert(inputs.end(), launch.others.begin(), launch.others.end());
  TestTeam team(workers);
  TestContext context(inputs, {}, team, by_input);
  KernelRegistry::Host().Create(node)->Compute(context);
  return memory;
}

// One element: state before, gradient; state after.
using Formula = std::function<std::vector<double>(const std::vector<double>&, double)>;

void ExpectStep(const Node& node, const Launch& launch, const Tensor& grad, const Formula& formula) {
  const std::vector<Tensor> after = Step(node, launch);
  for (int64_t i = 0; i < grad.NumElements(); ++i) {
    std::vector<double> before;
    for (const Tensor& slot : launch.state) before.push_back(slot.data<float>()[i]);
    const std::vector<double> expected = formula(before, grad.data<float>()[i]);
    for (size_t s = 0; s < expected.size(); ++s) {
      EXPECT_NEAR(after[s].data<float>()[i], expected[s], 2e-6 * (1 + std::abs(expected[s])))
          << "slot " << s << " element " << i;
    }
  }
}

Tensor S(float value) { return Tensor::Scalar(value); }

// Squares: slots that a square root is taken of.
Tensor Positive(const Shape& shape, uint64_t seed) {
  Tensor tensor = Noise(shape, seed);
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    tensor.data<float>()[i] = 0.1f + tensor.data<float>()[i] * tensor.data<float>()[i];
  return tensor;
}

const Shape kShape{3, 7};

TEST(Optimizers, GradientDescent) {
  const Tensor grad = Noise(kShape, 9);
  ExpectStep(MakeNode("ApplyGradientDescent"), {{Noise(kShape)}, {S(0.5f), grad}}, grad,
             [](const auto& s, double g) { return std::vector<double>{s[0] - 0.5 * g}; });
}

TEST(Optimizers, Momentum) {
  const Tensor grad = Noise(kShape, 9);
  for (const bool nesterov : {false, true}) {
    ExpectStep(MakeNode("ApplyMomentum", {{"use_nesterov", nesterov}}),
               {{Noise(kShape), Noise(kShape, 2)}, {S(0.5f), grad, S(0.75f)}}, grad,
               [&](const auto& s, double g) {
                 const double accum = s[1] * 0.75 + g;
                 return std::vector<double>{s[0] - 0.5 * (nesterov ? g + 0.75 * accum : accum), accum};
               });
  }
}

TEST(Optimizers, KerasMomentum) {
  const Tensor grad = Noise(kShape, 9);
  ExpectStep(MakeNode("ResourceApplyKerasMomentum", {{"use_nesterov", true}}),
             {{Noise(kShape), Noise(kShape, 2)}, {S(0.5f), grad, S(0.75f)}}, grad,
             [](const auto& s, double g) {
               const double accum = s[1] * 0.75 - 0.5 * g;
               return std::vector<double>{s[0] + accum * 0.75 - 0.5 * g, accum};
             });
}

TEST(Optimizers, Adam) {
  const Tensor grad = Noise(kShape, 9);
  for (const bool nesterov : {false, true}) {
    ExpectStep(
        MakeNode("ApplyAdam", {{"use_nesterov", nesterov}}),
        {{Noise(kShape), Noise(kShape, 2), Positive(kShape, 3)},
         {S(0.5f), S(0.75f), S(0.01f), S(0.875f), S(0.9375f), S(1e-3f), grad}},
        grad, [&](const auto& s, double g) {
          const double rate = static_cast<double>(0.01f) * std::sqrt(1 - 0.75) / (1 - 0.5);
          const double m = s[1] + (g - s[1]) * (1 - 0.875);
          const double v = s[2] + (g * g - s[2]) * (1 - 0.9375);
          const double step = nesterov ? g * (1 - 0.875) + 0.875 * m : m;
          return std::vector<double>{s[0] - step * rate / (std::sqrt(v) + static_cast<double>(1e-3f)), m, v};
        });
  }
}

TEST(Optimizers, Adagrad) {
  const Tensor grad = Noise(kShape, 9);
  const Formula formula = [](const auto& s, double g) {
    const double accum = s[1] + g * g;
    return std::vector<double>{s[0] - 0.5 * g / std::sqrt(accum), accum};
  };
  ExpectStep(MakeNode("ApplyAdagrad"), {{Noise(kShape), Positive(kShape, 2)}, {S(0.5f), grad}}, grad,
             formula);
  ExpectStep(MakeNode("ApplyAdagradV2"), {{Noise(kShape), Positive(kShape, 2)}, {S(0.5f), S(0.0f), grad}},
             grad, formula);
  ExpectStep(MakeNode("ApplyAdagrad", {{"update_slots", false}}),
             {{Noise(kShape), Positive(kShape, 2)}, {S(0.5f), grad}}, grad, [](const auto& s, double g) {
               return std::vector<double>{s[0] - 0.5 * g / std::sqrt(s[1]), s[1]};
             });
}

TEST(Optimizers, RmsPropAndAdadelta) {
  const Tensor grad = Noise(kShape, 9);
  ExpectStep(MakeNode("ApplyRMSProp"),
             {{Noise(kShape), Positive(kShape, 2), Noise(kShape, 3)},
              {S(0.5f), S(0.875f), S(0.25f), S(0.125f), grad}},
             grad, [](const auto& s, double g) {
               const double ms = s[1] + (g * g - s[1]) * (1 - 0.875);
               const double mom = s[2] * 0.25 + 0.5 * g / std::sqrt(ms + 0.125);
               return std::vector<double>{s[0] - mom, ms, mom};
             });
  ExpectStep(
      MakeNode("ApplyAdadelta"),
      {{Noise(kShape), Positive(kShape, 2), Positive(kShape, 3)}, {S(0.5f), S(0.875f), S(0.125f), grad}},
      grad, [](const auto& s, double g) {
        const double accum = s[1] * 0.875 + g * g * 0.125;
        const double step = std::sqrt(s[2] + 0.125) / std::sqrt(accum + 0.125) * g;
        return std::vector<double>{s[0] - 0.5 * step, accum, s[2] * 0.875 + step * step * 0.125};
      });
}

TEST(Optimizers, CenteredRmsProp) {
  const Tensor grad = Noise(kShape, 9);
  Tensor mean = Noise(kShape, 4);  // the variance ms - mg^2 stays positive
  for (int64_t i = 0; i < mean.NumElements(); ++i) mean.data<float>()[i] *= 0.1f;
  ExpectStep(MakeNode("ApplyCenteredRMSProp"),
             {{Noise(kShape), mean, Positive(kShape, 2), Noise(kShape, 3)},
              {S(0.5f), S(0.875f), S(0.25f), S(0.125f), grad}},
             grad, [](const auto& s, double g) {
               const double mg = s[1] + (g - s[1]) * (1 - 0.875);
               const double ms = s[2] + (g * g - s[2]) * (1 - 0.875);
               const double mom = s[3] * 0.25 + 0.5 * g / std::sqrt(ms - mg * mg + 0.125);
               return std::vector<double>{s[0] - mom, mg, ms, mom};
             });
}

double Shrunk(double x, double by) { return std::copysign(std::max(std::abs(x) - by, 0.0), x); }

TEST(Optimizers, ProximalSteps) {
  const Tensor grad = Noise(kShape, 9);
  for (const double l1 : {0.0, 0.25}) {
    const Tensor first = S(static_cast<float>(l1));
    ExpectStep(MakeNode("ApplyProximalGradientDescent"), {{Noise(kShape)}, {S(0.5f), first, S(0.125f), grad}},
               grad, [&](const auto& s, double g) {
                 return std::vector<double>{Shrunk(s[0] - 0.5 * g, 0.5 * l1) / (1 + 0.125 * 0.5)};
               });
    ExpectStep(MakeNode("ApplyProximalAdagrad"),
               {{Noise(kShape), Positive(kShape, 2)}, {S(0.5f), first, S(0.125f), grad}}, grad,
               [&](const auto& s, double g) {
                 const double accum = s[1] + g * g;
                 const double rate = 0.5 / std::sqrt(accum);
                 return std::vector<double>{Shrunk(s[0] - rate * g, rate * l1) / (1 + 0.125 * rate), accum};
               });
  }
}

// Dense and by rows; with the linear term held as it is and times the rate: var is the same.
TEST(Optimizers, Ftrl) {
  const Tensor grad = Noise(kShape, 9);
  for (const double power : {-0.5, -0.75}) {
    for (const bool scaled : {false, true}) {
      const double unit = scaled ? 0.5 : 1;
      const Formula formula = [&](const auto& s, double g) {
        const double accum = s[1] + g * g;
        const double rise = std::pow(accum, -power) - std::pow(s[1], -power);
        const double linear = s[2] / unit + g + 2 * 0.0625 * s[0] - rise / 0.5 * s[0];
        const double var = -Shrunk(linear, 0.25) / (std::pow(accum, -power) / 0.5 + 2 * 0.125);
        return std::vector<double>{var, accum, linear * unit};
      };
      const AttrMap attrs = {{"multiply_linear_by_lr", scaled}};
      const std::vector<Tensor> slots = {Noise(kShape), Positive(kShape, 2), Noise(kShape, 3)};
      const Tensor rate = S(0.5f), l1 = S(0.25f), l2 = S(0.125f), shrinkage = S(0.0625f);
      const Tensor exponent = S(static_cast<float>(power));
      ExpectStep(MakeNode("ApplyFtrlV2", attrs), {slots, {grad, rate, l1, l2, shrinkage, exponent}}, grad,
                 formula);
      ExpectStep(MakeNode("SparseApplyFtrlV2", attrs),
                 {slots, {grad, Ints({0, 1, 2}), rate, l1, l2, shrinkage, exponent}}, grad, formula);
    }
  }
}

// A row named twice takes two steps; rows not named stay.
TEST(Optimizers, SparseStepsGoRowByRow) {
  const Tensor var = Noise({4, 3});
  const Tensor accum = Positive({4, 3}, 2);
  const Tensor grad = Noise({3, 3}, 5);
  const Tensor indices = Longs({2, 0, 2});
  const std::vector<Tensor> sparse =
      Step(MakeNode("SparseApplyAdagrad"), {{var, accum}, {S(0.5f), grad, indices}});
  std::vector<Tensor> dense = {var, accum};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t row = indices.data<int64_t>()[i];
    const auto row_of = [](const Tensor& tensor, int64_t r) {
      return Floats({3}, {tensor.data<float>() + r * 3, tensor.data<float>() + r * 3 + 3});
    };
    const std::vector<Tensor> stepped =
        Step(MakeNode("ApplyAdagrad"),
             {{row_of(dense[0], row), row_of(dense[1], row)}, {S(0.5f), row_of(grad, i)}});
    for (size_t s = 0; s < 2; ++s) {
      Tensor next(DataType::kFloat, {4, 3});
      std::memcpy(next.raw_data(), dense[s].raw_data(), 48);
      std::memcpy(next.data<float>() + row * 3, stepped[s].raw_data(), 12);
      dense[s] = next;
    }
  }
  ExpectBitwiseEqual(sparse[0], dense[0]);
  ExpectBitwiseEqual(sparse[1], dense[1]);
  ExpectError(Code::kInvalidArgument, "Index 4 at offset 0 in indices is out of range", [&] {
    Step(MakeNode("SparseApplyMomentum"), {{var, accum}, {S(0.5f), Noise({1, 3}), Ints({4}), S(0.5f)}});
  });
}

TEST(Optimizers, RefuseOtherShapes) {
  ExpectError(Code::kInvalidArgument, "var and delta do not have the same shape[3,7] [3]", [] {
    Step(MakeNode("ApplyGradientDescent"), {{Noise(kShape)}, {S(1), Counting({3})}});
  });
  ExpectError(Code::kInvalidArgument, "lr is not a scalar: [2]", [] {
    Step(MakeNode("ApplyAdagrad"), {{Noise(kShape), Noise(kShape)}, {Counting({2}), Noise(kShape)}});
  });
}

// TensorFlow checks the scalars of Ftrl's steps by rows, not of its dense ones.
TEST(Optimizers, RefuseOtherScalars) {
  const Tensor var = Noise({4, 3}), grad = Noise({1, 3}), row = Ints({1});
  const auto ftrl = [&](float rate, float l1, float power, bool scaled) {
    Step(MakeNode("SparseApplyFtrl", {{"multiply_linear_by_lr", scaled}}),
         {{var, var, var}, {grad, row, S(rate), S(l1), S(0), S(power)}});
  };
  const char* rate = "lr is not a positive scalar (or zero if multiply_linear_by_lr is set): []";
  ExpectError(Code::kInvalidArgument, rate, [&] { ftrl(0, 0, -0.5f, false); });
  ExpectError(Code::kInvalidArgument, rate, [&] { ftrl(-1, 0, -0.5f, true); });
  ExpectError(Code::kInvalidArgument, "l1 regularization strength is not a non-negative scalar: []",
              [&] { ftrl(1, -1, -0.5f, false); });
  ExpectError(Code::kInvalidArgument, "lr_power is not a non-positive scalar: []",
              [&] { ftrl(1, 0, 0.5f, false); });
  ExpectError(Code::kInvalidArgument, "lr is not a positive scalar: []", [&] {
    Step(MakeNode("ApplyProximalAdagrad"), {{var, var}, {S(0), S(0), S(0), Noise({4, 3})}});
  });
  ExpectError(Code::kInvalidArgument, "var and linear do not have the same shape[4,3] [3]", [&] {
    Step(MakeNode("ApplyFtrl"), {{var, var, Noise({3})}, {Noise({4, 3}), S(1), S(0), S(0), S(-0.5f)}});
  });
  ExpectError(Code::kInvalidArgument, "grad must be the same size as indices in the first dimension.", [&] {
    Step(MakeNode("SparseApplyProximalAdagrad"), {{var, var}, {S(1), S(0), S(0), Noise({2, 3}), row}});
  });
  ExpectError(Code::kInvalidArgument, "var and grad must match in dimension 1", [&] {
    Step(MakeNode("SparseApplyProximalAdagrad"), {{var, var}, {S(1), S(0), S(0), Noise({1, 2}), row}});
  });
}

TEST(Optimizers, DoNotDependOnWorkers) {
  const Shape shape{9000, 11};
  const Launch launch{{Noise(shape), Noise(shape, 2), Positive(shape, 3)},
                      {S(0.5f), S(0.75f), S(0.01f), S(0.9f), S(0.999f), S(1e-3f), Noise(shape, 4)}};
  const std::vector<Tensor> one = Step(MakeNode("ApplyAdam"), launch, 1);
  for (const int workers : {2, 5}) {
    const std::vector<Tensor> many = Step(MakeNode("ApplyAdam"), launch, workers);
    for (size_t s = 0; s < one.size(); ++s) ExpectBitwiseEqual(many[s], one[s]);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
