// SPDX-License-Identifier: Apache-2.0
// Every instruction set's loops give the same results as the plainest set's: exactly for integers and for
// operations without products, within rounding otherwise.
#include "exec/loops/loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace lanescope::exec {
namespace {

std::vector<float> RandomFloats(size_t n, uint32_t seed, float low = -3, float high = 3) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(random);
  return values;
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b, double tolerance,
                const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << " element " << i;
  }
}

TEST(Loops, UnaryAgreesBetweenInstructionSets) {
  const std::vector<float> x = RandomFloats(1037, 1);
  for (const Loops& loops : AvailableLoops()) {
    for (size_t op = 0; op < static_cast<size_t>(UnaryOp::kCount); ++op) {
      const UnaryLoop base = AvailableLoops()[0].unary[op][0];
      if (base == nullptr) continue;
      std::vector<float> expected(x.size());
      std::vector<float> actual(x.size());
      base(static_cast<int64_t>(x.size()), x.data(), expected.data());
      loops.unary[op][0](static_cast<int64_t>(x.size()), x.data(), actual.data());
      ExpectNear(actual, expected, 1e-6, std::string(loops.isa) + " unary " + std::to_string(op));
    }
  }
}

TEST(Loops, BinaryAgreesForEveryKindOfOperand) {
  const std::vector<float> a = RandomFloats(7 * 53, 2, 0.1f, 3);
  const std::vector<float> b = RandomFloats(7 * 53, 3, 0.1f, 3);
  const Operand kinds_a[] = {{a.data(), 53, 1}, {a.data(), 0, 1}, {a.data(), 1, 0}, {a.data(), 0, 0}};
  const Operand kinds_b[] = {{b.data(), 53, 1}, {b.data(), 0, 1}, {b.data(), 1, 0}, {b.data(), 0, 0}};
  for (const Loops& loops : AvailableLoops()) {
    for (size_t op = 0; op < static_cast<size_t>(BinaryOp::kCount); ++op) {
      const BinaryLoop base = AvailableLoops()[0].binary[op][0];
      if (base == nullptr) continue;
      for (const Operand& left : kinds_a) {
        for (const Operand& right : kinds_b) {
          std::vector<float> expected(a.size());
          std::vector<float> actual(a.size());
          base(7, 53, left, right, expected.data());
          loops.binary[op][0](7, 53, left, right, actual.data());
          ExpectNear(actual, expected, 1e-6, std::string(loops.isa) + " binary " + std::to_string(op));
        }
      }
    }
  }
}

// The order of additions is fixed, so that only products fused with additions may differ.
TEST(Loops, SumsAreBitwiseEqualBetweenInstructionSets) {
  const std::vector<float> x = RandomFloats(5000, 4);
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd}) {
    for (const Loops& loops : AvailableLoops()) {
      float expected = 0;
      float actual = 0;
      AvailableLoops()[0].reduce[static_cast<size_t>(op)][0](5000, x.data(), &expected);
      loops.reduce[static_cast<size_t>(op)][0](5000, x.data(), &actual);
      EXPECT_EQ(actual, expected) << loops.isa;
      for (int64_t n : {1, 10, 50, 64, 100}) {
        std::vector<float> base_rows(static_cast<size_t>(n), 1);
        std::vector<float> rows(static_cast<size_t>(n), 1);
        AvailableLoops()[0].reduce_rows[static_cast<size_t>(op)][0](5000 / n, n, n, x.data(),
                                                                    base_rows.data());
        loops.reduce_rows[static_cast<size_t>(op)][0](5000 / n, n, n, x.data(), rows.data());
        EXPECT_EQ(std::memcmp(rows.data(), base_rows.data(), rows.size() * sizeof(float)), 0)
            << loops.isa << n;
      }
    }
  }
}

TEST(Loops, RowAndTrainingLoopsAgree) {
  const std::vector<float> x = RandomFloats(9 * 37, 5);
  const std::vector<float> dy = RandomFloats(9 * 37, 6);
  const Loops& base = AvailableLoops()[0];
  std::vector<float> scratch(3 * 37 + 2 * 4);
  for (const Loops& loops : AvailableLoops()) {
    std::vector<float> expected(x.size());
    std::vector<float> actual(x.size());
    base.rows_float.softmax(9, 37, x.data(), expected.data());
    loops.rows_float.softmax(9, 37, x.data(), actual.data());
    ExpectNear(actual, expected, 1e-6, "softmax");
    base.rows_float.lrn(9, 37, 4, 1, 0.1f, 0.75f, x.data(), expected.data(), scratch.data());
    loops.rows_float.lrn(9, 37, 4, 1, 0.1f, 0.75f, x.data(), actual.data(), scratch.data());
    ExpectNear(actual, expected, 1e-6, "lrn");
    std::vector<float> var[2] = {dy, dy};
    std::vector<float> m[2] = {x, x};
    std::vector<float> v[2] = {RandomFloats(x.size(), 7, 0, 1), RandomFloats(x.size(), 7, 0, 1)};
    const auto n = static_cast<int64_t>(x.size());
    base.train_float.adam(n, 0.01f, 0.9f, 0.999f, 1e-8f, false, dy.data(), var[0].data(), m[0].data(),
                          v[0].data());
    loops.train_float.adam(n, 0.01f, 0.9f, 0.999f, 1e-8f, false, dy.data(), var[1].data(), m[1].data(),
                           v[1].data());
    ExpectNear(var[1], var[0], 1e-6, "adam");
  }
}

// Laws: NaN is never the largest; of nothing else, the lowest number is. Means and weighted sums have NaN
// where a tap has. Stretches of less and more than a vector, at every end of one.
TEST(Loops, WindowsOverStretches) {
  constexpr size_t kMost = 70;
  const int64_t taps[] = {0, 3, 75};
  const float weights[] = {0.5f, -2.0f, 0.25f};
  std::vector<float> x = RandomFloats(75 + kMost, 41);
  x[5] = x[6] = x[9] = NAN;     // some taps of elements 5, 6 and 9
  x[20] = x[23] = x[95] = NAN;  // all taps of element 20
  for (const Loops& loops : AvailableLoops()) {
    for (size_t n = 1; n <= kMost; ++n) {
      const auto count = static_cast<int64_t>(n);
      std::vector<float> most(n + 1, 7.0f), mean(n + 1, 7.0f), sum(n + 1, 7.0f);
      loops.pool_float.max(count, 3, taps, x.data(), most.data());
      loops.pool_float.mean(count, 3, taps, x.data(), mean.data());
      loops.pool_float.weighted_sum(count, 3, taps, weights, x.data(), sum.data());
      for (size_t i = 0; i < n; ++i) {
        float largest = std::numeric_limits<float>::lowest();
        double total = 0, weighted = 0;
        for (size_t t = 0; t < 3; ++t) {
          const float value = x[i + static_cast<size_t>(taps[t])];
          if (value > largest) largest = value;
          total += value;
          weighted += static_cast<double>(weights[t]) * value;
        }
        ASSERT_EQ(most[i], largest) << loops.isa << " " << i << " of " << n;
        ASSERT_EQ(std::isnan(mean[i]), std::isnan(total)) << loops.isa << " " << i << " of " << n;
        ASSERT_EQ(std::isnan(sum[i]), std::isnan(weighted)) << loops.isa << " " << i << " of " << n;
        if (std::isnan(total)) continue;
        ASSERT_NEAR(mean[i], total / 3, 1e-6) << loops.isa << " " << i << " of " << n;
        ASSERT_NEAR(sum[i], weighted, 1e-5) << loops.isa << " " << i << " of " << n;
      }
      EXPECT_EQ(most[n], 7.0f);
      EXPECT_EQ(mean[n], 7.0f);
      EXPECT_EQ(sum[n], 7.0f);
    }
  }
}

// Law: of several cells that hold a window's maximum the first takes the gradient, and adds it to what it
// has.
TEST(Loops, TheFirstMaximumTakesTheGradient) {
  constexpr int64_t kChannels = 37, kCells = 4;
  const int64_t taps[] = {kChannels, 2 * kChannels, 3 * kChannels};  // the first cell is of another window
  std::vector<float> x(kCells * kChannels), y(kChannels, 2), dy(kChannels), expected(x.size(), 1);
  for (int64_t c = 0; c < kChannels; ++c) {
    const int64_t most = 1 + c % 3;
    for (int64_t cell = most; cell < kCells; ++cell) x[static_cast<size_t>(cell * kChannels + c)] = 2;
    dy[static_cast<size_t>(c)] = static_cast<float>(c + 1);
    expected[static_cast<size_t>(most * kChannels + c)] += static_cast<float>(c + 1);
  }
  for (const Loops& loops : AvailableLoops()) {
    std::vector<float> dx(x.size(), 1);
    loops.pool_float.max_grad(kChannels, 3, taps, x.data(), y.data(), dy.data(), dx.data());
    EXPECT_EQ(dx, expected) << loops.isa;
  }
}

TEST(Loops, ProductsAgree) {
  struct Sides {
    int64_t m, n, k;
  };
  // Less and more than tiles, panels and vectors of every set; sums in one slice and in three.
  for (const Sides& s : {Sides{1, 1, 1}, {5, 3, 2}, {25, 37, 30}, {13, 600, 40}, {30, 64, 700}}) {
    const auto a = RandomFloats(static_cast<size_t>(s.m * s.k), 21),
               b = RandomFloats(static_cast<size_t>(s.k * s.n), 22);
    std::vector<float> expected(static_cast<size_t>(s.m * s.n));
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < s.k; ++l)
          sum +=
              static_cast<double>(a[static_cast<size_t>(i * s.k + l)]) * b[static_cast<size_t>(l * s.n + j)];
        expected[static_cast<size_t>(i * s.n + j)] = static_cast<float>(sum);
      }
    }
    std::vector<float> a_turned(a.size()), b_turned(b.size());
    for (const Loops& loops : AvailableLoops()) {
      const ProductLoops<float>& product = loops.product_float;
      product.transpose(s.m, s.k, a.data(), s.k, a_turned.data(), s.m);
      product.transpose(s.k, s.n, b.data(), s.n, b_turned.data(), s.k);
      EXPECT_EQ(a_turned[static_cast<size_t>((s.k - 1) * s.m)], a[static_cast<size_t>(s.k - 1)]);
      std::vector<float> panels(static_cast<size_t>(product.panel_elements));
      for (const bool turn_a : {false, true}) {
        for (const bool turn_b : {false, true}) {
          const MatrixView<float> left{turn_a ? a_turned.data() : a.data(), turn_a ? s.m : s.k, turn_a};
          const MatrixView<float> right{turn_b ? b_turned.data() : b.data(), turn_b ? s.k : s.n, turn_b};
          std::vector<float> c(expected.size() + 1, 7.0f);
          product.multiply(s.m, s.n, s.k, left, right, false, c.data(), s.n, panels.data());
          for (size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(c[i], expected[i], 1e-4 * (1 + std::abs(expected[i])))
                << loops.isa << " " << i << " of " << s.m << " x " << s.n;
          EXPECT_EQ(c.back(), 7.0f);
        }
      }
    }
  }
}

// More positions than are summed up at a time, some left out, under filters of one vector, of one panel and
// of several: rows of the gradient beyond the tiles of every set.
TEST(Loops, FilterGradientsSumUpManyPositions) {
  constexpr size_t kPositions = 1001, kLength = 29;
  const std::vector<float> x = RandomFloats(kPositions * kLength, 31);
  std::vector<const float*> from;
  std::vector<int64_t> rows;
  for (size_t p = 0; p < kPositions; ++p) {
    if (p % 7 == 3) continue;
    from.push_back(x.data() + p * kLength);
    rows.push_back(static_cast<int64_t>(p));
  }
  for (const size_t n : {size_t{5}, size_t{32}, size_t{131}}) {
    const std::vector<float> dy = RandomFloats(kPositions * n, 32);
    for (const Loops& loops : AvailableLoops()) {
      const auto panel = static_cast<size_t>(loops.conv_float.panel);
      std::vector<float> packed((n + panel - 1) / panel * kPositions * panel), grad(kLength * n, 7.0f);
      loops.conv_float.pack(kPositions, static_cast<int64_t>(n), dy.data(), static_cast<int64_t>(n),
                            packed.data(), static_cast<int64_t>(kPositions * panel));
      loops.product_float.filter_grad(kLength, static_cast<int64_t>(from.size()), from.data(), rows.data(),
                                      static_cast<int64_t>(n), packed.data(),
                                      static_cast<int64_t>(kPositions * panel), false, grad.data(),
                                      static_cast<int64_t>(n));
      for (size_t i = 0; i < kLength; ++i) {
        for (size_t f = 0; f < n; ++f) {
          double expected = 0;
          for (const int64_t p : rows)
            expected += static_cast<double>(x[static_cast<size_t>(p) * kLength + i]) *
                        dy[static_cast<size_t>(p) * n + f];
          ASSERT_NEAR(grad[i * n + f], expected, 1e-3 * (1 + std::abs(expected))) << loops.isa << n;
        }
      }
      // No positions give zeros, or nothing is added.
      std::vector<float> none = grad;
      const auto of_none = [&](bool add) {
        loops.product_float.filter_grad(kLength, 0, from.data(), rows.data(), static_cast<int64_t>(n),
                                        packed.data(), static_cast<int64_t>(kPositions * panel), add,
                                        none.data(), static_cast<int64_t>(n));
      };
      of_none(true);
      EXPECT_EQ(none, grad) << loops.isa << n;
      of_none(false);
      EXPECT_EQ(none, std::vector<float>(kLength * n)) << loops.isa << n;
    }
  }
}

TEST(Loops, ConvolutionAgrees) {
  // 3 output rows of 29 positions, patches of 2 runs of 3 cells of 5 channels, 37 filters.
  const std::vector<float> x = RandomFloats(4 * 31 * 5, 8);
  const std::vector<float> filter = RandomFloats(30 * 37, 9);
  const int64_t offsets[] = {0, 31 * 5};
  const PatchTaps taps{2, 31 * 5, 15, 1, 0, 15};
  std::vector<const float*> patches;
  std::vector<int64_t> rows_of_grads;
  for (size_t p = 0; p < 3 * 29; ++p) rows_of_grads.push_back(static_cast<int64_t>(p));
  for (size_t p = 0; p < 3 * 29; ++p) patches.push_back(x.data() + p / 29 * 155 + p % 29 * 5);
  for (const Loops& loops : AvailableLoops()) {
    const ConvLoops<float>& conv = loops.conv_float;
    const size_t panels = static_cast<size_t>((37 + conv.panel - 1) / conv.panel * conv.panel * 30);
    std::vector<float> packed(panels);
    conv.pack(30, 37, filter.data(), 37, packed.data(), 30 * conv.panel);
    std::vector<float> turned(30 * 37), turned_packed(panels);
    for (size_t k = 0; k < 30; ++k) {
      for (size_t f = 0; f < 37; ++f) turned[f * 30 + k] = filter[k * 37 + f];
    }
    conv.pack_turned(30, 37, turned.data(), 30, turned_packed.data(), 30 * conv.panel);
    ASSERT_EQ(turned_packed, packed) << loops.isa;
    std::vector<float> y(patches.size() * 37);
    std::vector<float*> rows;
    for (size_t p = 0; p < patches.size(); ++p) rows.push_back(y.data() + p * 37);
    for (int64_t first = 0; first < 37; first += conv.panel) {
      conv.forward(taps, static_cast<int64_t>(patches.size()), patches.data(), packed.data() + first * 30,
                   std::min(conv.panel, 37 - first), rows.data(), first);
    }
    for (size_t p = 0; p < patches.size(); ++p) {
      for (size_t f = 0; f < 37; ++f) {
        double expected = 0;
        for (size_t k = 0; k < 30; ++k)
          expected += static_cast<double>(patches[p][static_cast<size_t>(offsets[k / 15]) + k % 15]) *
                      filter[k * 37 + f];
        ASSERT_NEAR(y[p * 37 + f], expected, 1e-4 * (1 + std::abs(expected))) << loops.isa;
      }
    }
    const auto positions = static_cast<int64_t>(patches.size());
    std::vector<float> grads(patches.size() * panels / 30), grad(30 * 37 + 1, 7.0f);
    conv.pack(positions, 37, y.data(), 37, grads.data(), positions * conv.panel);
    for (const bool add : {false, true}) {  // all but the last position, then that one
      for (int64_t run = 0; run < 2; ++run) {
        std::vector<const float*> from;
        for (const float* patch : patches) from.push_back(patch + offsets[run]);
        const auto first = add ? patches.size() - 1 : 0;
        loops.product_float.filter_grad(15, add ? 1 : positions - 1, from.data() + first,
                                        rows_of_grads.data() + first, 37, grads.data(),
                                        positions * conv.panel, add, grad.data() + run * 15 * 37, 37);
      }
    }
    EXPECT_EQ(grad.back(), 7.0f);
    for (size_t k = 0; k < 30; ++k) {
      for (size_t f = 0; f < 37; ++f) {
        double expected = 0;
        for (size_t p = 0; p < 3 * 29; ++p) {
          const size_t at = p / 29 * 155 + p % 29 * 5 + static_cast<size_t>(offsets[k / 15]) + k % 15;
          expected += static_cast<double>(x[at]) * y[p * 37 + f];
        }
        ASSERT_NEAR(grad[k * 37 + f], expected, 1e-4 * (1 + std::abs(expected))) << loops.isa;
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::exec
