// SPDX-License-Identifier: Apache-2.0
// Launches of the same op in another size.
#include "sims/cost/op_sizes.h"

#include <gtest/gtest.h>

namespace lanescope::sims {
namespace {

LaunchCost MeasuredLaunch(const std::string& signature, int64_t ns, OpWork work) {
  return {.signature = signature,
          .op = "MatMul",
          .device = "d",
          .ns = ns,
          .spread_ns = ns / 10,
          .count = 9,
          .work = work};
}

TEST(OpSizes, SignaturesAreTakenApart) {
  const SizedForm form = FormOf("Fill(int32[2]=32,-1;float[])->float[32,1]{value=7,shape=[3]}");
  EXPECT_EQ(form.form, "Fill(int32[#]=#,-#;float[])->float[#,#]{value=7,shape=[3]}");
  EXPECT_EQ(form.numbers, (std::vector<int64_t>{2, 32, 1, 32, 1}));
  EXPECT_EQ(FormOf("NoOp()->").numbers.size(), 0u);
  EXPECT_EQ(FormOf("A(float[99999999999999999999999])->").numbers.size(), 1u);
}

// Every difference has to be by one factor.
TEST(OpSizes, GrowthIsOneFactor) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(GrowthOf(List{32, 800, 32}, List{64, 800, 64}), 2.0);
  EXPECT_EQ(GrowthOf(List{32, 800}, List{32, 800}), 1.0);
  EXPECT_EQ(GrowthOf(List{32, 800}, List{64, 400}), std::nullopt);
  EXPECT_EQ(GrowthOf(List{32}, List{32, 1}), std::nullopt);
  EXPECT_EQ(GrowthOf(List{0}, List{5}), std::nullopt);
}

// Twice the batch: twice the operations, but of the bytes the weights stay, so that these grow by 1.28: all
// but the fixed 100 ns grows by the geometric mean of both, 1.6.
TEST(OpSizes, OneSizeGrowsAsItsWorkDoes) {
  OpSizes sizes;
  sizes.Add(MeasuredLaunch("MatMul(float[32,800];float[800,64])->float[32,64]", 1100, {1'000'000, 100'000}));
  const std::string twice = "MatMul(float[64,800];float[800,64])->float[64,64]";
  const auto estimate = sizes.Find("d", twice, {2'000'000, 128'000}, 100);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->ns, 100 + 1000 * 1.6, 1);
  EXPECT_EQ(estimate->growth, 2);
  EXPECT_GT(estimate->spread, 0.1);
  EXPECT_FALSE(sizes.Find("other", twice, {}, 0));
  EXPECT_FALSE(sizes.Find("d", "MatMul(float[64,800];float[800,65])->float[64,65]", {}, 0));
  EXPECT_FALSE(sizes.Find("d", twice + "{transpose_a=true}", {}, 0));
}

// 300 ns at 10 and 700 at 30: 500 at 20 and 900 at 40. Times that fall are no line.
TEST(OpSizes, SeveralSizesLieOnALine) {
  OpSizes sizes;
  sizes.Add(MeasuredLaunch("A(float[10])->", 300, {10, 40}));
  sizes.Add(MeasuredLaunch("A(float[30])->", 700, {30, 120}));
  EXPECT_NEAR(sizes.Find("d", "A(float[20])->", {20, 80}, 0)->ns, 500, 1e-6);
  EXPECT_NEAR(sizes.Find("d", "A(float[40])->", {40, 160}, 0)->ns, 900, 1e-6);
  OpSizes falling;
  falling.Add(MeasuredLaunch("A(float[10])->", 300, {10, 40}));
  falling.Add(MeasuredLaunch("A(float[20])->", 200, {20, 80}));
  EXPECT_NEAR(falling.Find("d", "A(float[40])->", {40, 160}, 0)->ns, 400, 1e-6);
}

}  // namespace
}  // namespace lanescope::sims
