// SPDX-License-Identifier: Apache-2.0
// Random streams against numbers that TensorFlow 2.15 prints for the seeds (1, 2), two steps of one session
// each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "exec/functors/philox.h"
#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

Node RandomNode(const std::string& op, int64_t seed = 1, int64_t seed2 = 2) {
  return MakeNode(op, {{"seed", IntAttr(seed)}, {"seed2", IntAttr(seed2)}});
}

// `steps` launches of one node in one session.
std::vector<Tensor> Draw(const Node& node, const std::vector<Tensor>& inputs, const OutputPlan& plan,
                         int steps, int workers = 1) {
  const auto kernel = KernelRegistry::Host().Create(node);
  TestTeam team(workers);
  uint64_t counter = 0;
  std::vector<Tensor> results;
  for (int step = 0; step < steps; ++step) {
    TestContext context(inputs, {plan}, team);
    context.random_counter() = counter;
    kernel->Compute(context);
    counter = context.random_counter();
    results.push_back(context.Result());
  }
  return results;
}

// The published test vectors of Philox 4x32-10 (Random123, kat_vectors).
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(Philox(0, 0).Next(), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  Philox ones(~uint64_t{0}, ~uint64_t{0});
  ones.Skip(~uint64_t{0});
  EXPECT_EQ(ones.Next(), (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, SkipIsManyNexts) {
  Philox stepped(3, 4);
  for (int i = 0; i < 1000; ++i) stepped.Next();
  Philox skipped(3, 4);
  skipped.Skip(1000);
  EXPECT_EQ(stepped.Next(), skipped.Next());
}

TEST(Philox, SkipCarriesIntoTheUpperHalf) {
  Philox a(3, 4);
  a.Skip(~uint64_t{0});
  a.Skip(1);
  EXPECT_EQ(a.Next(), Philox(3, 5).Next());
}

TEST(RandomUniform, IsTensorFlowsStream) {
  const auto draws = Draw(RandomNode("RandomUniform"), {Ints({5})}, {DataType::kFloat, {5}}, 2);
  EXPECT_EQ(ListOf<float>(draws[0]),
            (std::vector<float>{0.406396746635437f, 0.8575996160507202f, 0.05539584159851074f,
                                0.08587229251861572f, 0.41215360164642334f}));
  EXPECT_EQ(ListOf<float>(draws[1]),
            (std::vector<float>{0.15982985496520996f, 0.3912637233734131f, 0.9523847103118896f,
                                0.584368109703064f, 0.7269216775894165f}));
}

TEST(RandomUniformInt, IsTensorFlowsStream) {
  const auto ints = Draw(RandomNode("RandomUniformInt"),
                         {Ints({5}), Tensor::Scalar<int32_t>(-3), Tensor::Scalar<int32_t>(1000)},
                         {DataType::kInt32, {5}}, 2);
  EXPECT_EQ(ListOf<int32_t>(ints[0]), (std::vector<int32_t>{967, 952, 501, 542, 957}));
  EXPECT_EQ(ListOf<int32_t>(ints[1]), (std::vector<int32_t>{700, 527, 675, 751, 723}));
  const auto longs = Draw(RandomNode("RandomUniformInt"),
                          {Ints({3}), Tensor::Scalar<int64_t>(-3), Tensor::Scalar<int64_t>(1000000000000000)},
                          {DataType::kInt64, {3}}, 2);
  EXPECT_EQ(ListOf<int64_t>(longs[0]),
            (std::vector<int64_t>{990248698023374, 669816833412794, 932863528896641}));
  EXPECT_EQ(ListOf<int64_t>(longs[1]),
            (std::vector<int64_t>{698545453091224, 85269437188056, 406743198151248}));
  ExpectError(Code::kInvalidArgument, "Need minval < maxval, got 3 >= 3", [] {
    Draw(RandomNode("RandomUniformInt"), {Ints({1}), Tensor::Scalar<int32_t>(3), Tensor::Scalar<int32_t>(3)},
         {DataType::kInt32, {1}}, 1);
  });
}

// Within two units in the last place: logarithm, sine and cosine may differ in the last one.
void ExpectWithinTwoUlp(const Tensor& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.NumElements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const float ulp = std::nextafter(std::abs(expected[i]), INFINITY) - std::abs(expected[i]);
    EXPECT_NEAR(actual.data<float>()[i], expected[i], 2 * ulp) << i;
  }
}

TEST(RandomStandardNormal, IsTensorFlowsStream) {
  const auto draws = Draw(RandomNode("RandomStandardNormal"), {Ints({5})}, {DataType::kFloat, {5}}, 2);
  ExpectWithinTwoUlp(draws[0], {-1.0467792749404907f, 0.8397045731544495f, 1.235836386680603f,
                                2.0637853145599365f, 0.3037427067756653f});
  ExpectWithinTwoUlp(draws[1], {1.208923578262329f, -1.485191822052002f, -0.1579384207725525f,
                                -0.2694956064224243f, -0.5014103055000305f});
}

TEST(TruncatedNormal, IsTensorFlowsStream) {
  const auto draws = Draw(RandomNode("TruncatedNormal"), {Ints({9})}, {DataType::kFloat, {9}}, 2);
  ExpectWithinTwoUlp(draws[0], {-1.0467792749404907f, 0.8397045731544495f, 1.235836386680603f,
                                0.3037427067756653f, 0.38869091868400574f, 1.236704707145691f,
                                0.24039803445339203f, -0.15714259445667267f, -0.164025217294693f});
  ExpectWithinTwoUlp(draws[1], {0.48423269391059875f, -1.2896788120269775f, -0.9940127730369568f,
                                1.108314037322998f, 0.0002061382692772895f, -1.343321681022644f,
                                0.35476383566856384f, -0.6017349362373352f, 0.4058099687099457f});
  const Tensor doubles = Draw(RandomNode("TruncatedNormal"), {Ints({3})}, {DataType::kDouble, {3}}, 1)[0];
  EXPECT_NEAR(doubles.data<double>()[0], 0.58105877128258, 1e-14);
  EXPECT_NEAR(doubles.data<double>()[1], -1.557429113677359, 1e-14);
  EXPECT_NEAR(doubles.data<double>()[2], -1.1295845092323191, 1e-14);
}

TEST(RandomShuffle, IsTensorFlowsOrder) {
  const Tensor x = Ints({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const auto draws = Draw(RandomNode("RandomShuffle"), {x}, {DataType::kInt32, {9}}, 2);
  EXPECT_EQ(ListOf<int32_t>(draws[0]), (std::vector<int32_t>{8, 4, 0, 2, 5, 7, 1, 3, 6}));
  EXPECT_EQ(ListOf<int32_t>(draws[1]), (std::vector<int32_t>{2, 4, 7, 8, 0, 3, 1, 6, 5}));
}

TEST(RandomOps, WithoutSeedsRepeatButDifferByNode) {
  Node a = RandomNode("RandomUniform", 0, 0);
  Node b = a;
  b.name = "other";
  const auto draw = [](const Node& node) { return Draw(node, {Ints({8})}, {DataType::kFloat, {8}}, 1)[0]; };
  ExpectBitwiseEqual(draw(a), draw(a));
  EXPECT_NE(ListOf<float>(draw(a)), ListOf<float>(draw(b)));
}

TEST(RandomOps, DoNotDependOnWorkers) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    const auto draw = [&](int workers) {
      return Draw(RandomNode(op), {Ints({70001})}, {DataType::kFloat, {70001}}, 1, workers)[0];
    };
    const Tensor one = draw(1);
    for (const int workers : {2, 5}) ExpectBitwiseEqual(draw(workers), one);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
