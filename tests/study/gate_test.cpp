// SPDX-License-Identifier: Apache-2.0
// Verdicts of gates on made-up runs whose truth is known: how often they err, and how often they find what is
// there, over seeded noise of the kinds that machines have.
#include "study/gate/gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <tuple>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

class Noise {
 public:
  explicit Noise(uint64_t seed) : bits_(seed) {}
  double Uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  double Normal() { return std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * std::numbers::pi * Uniform()); }
  // Student's with two degrees of freedom: tails so heavy that its variance has no end.
  double HeavyTailed() {
    const double a = Normal(), b = Normal(), c = Normal();
    return a / std::sqrt((b * b + c * c) / 2);
  }

 private:
  std::mt19937_64 bits_;
};

RunSample RunOf(double value, double error = 0.001) {
  return {.steps = 10, .of = {{value, value, error * value}}};
}

GateRequest RequestOf(double budget) {
  GateRequest request;
  request.quantities = ParseQuantities("step");
  request.base_name = "a";
  request.candidate_name = "b";
  request.budget = budget;
  return request;
}

enum class Kind { kHeavyTails, kTwoClocks, kDrift };

// `rounds` pairs of runs of 1 ms, the candidate's longer by `slower`.
GateRequest InTurn(Kind kind, int rounds, double slower, uint64_t seed) {
  Noise noise(seed);
  GateRequest request = RequestOf(0);
  request.in_turn = true;
  double drift = 0;
  for (int i = 0; i < rounds; ++i) {
    drift = 0.9 * drift + 0.03 * noise.Normal();  // of neighbouring rounds alike
    const auto run = [&] {
      switch (kind) {
        case Kind::kHeavyTails:
          return std::exp(0.005 * noise.HeavyTailed());
        case Kind::kTwoClocks:
          return (noise.Uniform() < 0.3 ? 1.2 : 1.0) * std::exp(0.003 * noise.Normal());
        case Kind::kDrift:
          break;
      }
      return std::exp(drift + 0.005 * noise.Normal());
    };
    request.base.push_back(RunOf(1e6 * run()));
    request.candidate.push_back(RunOf(1e6 * (1 + slower) * run()));
  }
  return request;
}

int CountWorse(Kind kind, int rounds, double slower) {
  int worse = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed)
    worse += Gate(InTurn(kind, rounds, slower, seed)).verdict == GateVerdict::kWorse;
  return worse;
}

// With a budget of 0 and nothing changed a gate may be wrong once in 200 times; 8 of 400 are less than one
// chance in a thousand.
TEST(Gate, NoiseIsNoRegression) {
  EXPECT_LT(CountWorse(Kind::kHeavyTails, 20, 0), 8);
  EXPECT_LT(CountWorse(Kind::kTwoClocks, 20, 0), 8);
  EXPECT_LT(CountWorse(Kind::kDrift, 20, 0), 8);
}

// Runs that vary by 0.5% beside heavy tails, and beside a drift of 7% that both sides share: 2% is found.
TEST(Gate, FindsWhatIsThere) {
  EXPECT_GT(CountWorse(Kind::kHeavyTails, 20, 0.02), 390);
  EXPECT_GT(CountWorse(Kind::kDrift, 20, 0.02), 390);
  EXPECT_GT(CountWorse(Kind::kDrift, 20, 0.01), 390);
}

// The interval of 99% holds the true change in at least 97.5% of 400, and is the narrower the more rounds.
TEST(Gate, IntervalsCoverTheTruth) {
  for (const Kind kind : {Kind::kHeavyTails, Kind::kDrift}) {
    int covered = 0;
    double width = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      const ChangeInterval change = Gate(InTurn(kind, 12, 0.03, seed)).quantities[0].change;
      covered += change.low <= 0.03 && 0.03 <= change.high;
      width += change.high - change.low;
    }
    EXPECT_GE(covered, 390);
    double wide = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      const ChangeInterval change = Gate(InTurn(kind, 48, 0.03, seed)).quantities[0].change;
      wide += change.high - change.low;
    }
    EXPECT_LT(wide, 0.6 * width);
  }
}

// Runs of each side apart from each other, with two usual speeds: ranks, by five of each at least.
TEST(Gate, SidesThatWereNotRunInTurn) {
  int worse = 0, found = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    GateRequest same = InTurn(Kind::kTwoClocks, 8, 0, seed), slower = InTurn(Kind::kHeavyTails, 8, 0.1, seed);
    same.in_turn = slower.in_turn = false;
    const GateResult result = Gate(same);
    EXPECT_EQ(result.quantities[0].by, "ranks");
    EXPECT_EQ(result.notes.size(), 1u);
    worse += result.verdict == GateVerdict::kWorse;
    found += Gate(slower).verdict == GateVerdict::kWorse;
  }
  EXPECT_LT(worse, 8);
  EXPECT_GT(found, 380);
}

// One run of each side: 5% more may be noise, 50% more is none.
TEST(Gate, OneRunOfEachSaysLittle) {
  GateRequest request = RequestOf(0.02);
  request.base = {RunOf(1e6)};
  request.candidate = {RunOf(1.05e6)};
  GateResult result = Gate(request);
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(result.quantities[0].by, "assumed spread");
  EXPECT_EQ(result.quantities[0].wanted_runs, 8);  // 2^-8 < 0.005 < 2^-7
  EXPECT_NEAR(result.quantities[0].change.value, 0.05, 1e-9);
  request.candidate = {RunOf(1.5e6)};
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kWorse);
  // A tenth, which a single step may be off by, explains half as much again, but not nine times as much.
  request.base = {RunOf(1e6, 0.1)};
  request.candidate = {RunOf(1.5e6, 0.1)};
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kCannotTell);
  request.candidate = {RunOf(9e6, 0.1)};
  request.base[0].steps = request.candidate[0].steps = 1;
  result = Gate(request);
  EXPECT_EQ(result.verdict, GateVerdict::kWorse);
  EXPECT_EQ(result.notes.size(), 2u);
  request.base = {RunOf(1e6)};
  // Nobody knows its error.
  request.candidate = {RunOf(1.5e6, std::numeric_limits<double>::infinity())};
  result = Gate(request);
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(result.quantities[0].change.low, -1);
}

// Six earlier baselines within 0.2% of each other: 2% more is a change, 0.2% more none.
TEST(Gate, EarlierBaselinesSayWhatIsUsual) {
  GateRequest request = RequestOf(0.005);
  request.base = {RunOf(1e6)};
  request.spread = {
      {.of_records = 0.002 / std::sqrt(2), .freedom = 5, .of_runs = 0, .run_freedom = 0, .runs = 1}};
  request.candidate = {RunOf(1.02e6, 0)};
  const GateResult result = Gate(request);
  EXPECT_EQ(result.quantities[0].by, "earlier baselines");
  EXPECT_EQ(result.verdict, GateVerdict::kWorse);
  request.candidate = {RunOf(1.002e6, 0)};
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kCannotTell);
}

// Memory is what the trace says, without noise; the whole gate is worse when one quantity is.
TEST(Gate, MemoryIsExact) {
  GateRequest request = RequestOf(0.01);
  request.quantities = ParseQuantities("memory");
  request.base = {RunOf(1000, 0)};
  request.candidate = {RunOf(1011, 0)};
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kWorse);
  request.candidate = {RunOf(1010, 0)};
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kFine);
}

// A trace without memory says nothing of it: neither that it is alike, nor that it is better or worse.
TEST(Gate, MemoryThatIsNotRecorded) {
  GateRequest request = RequestOf(0.01);
  request.quantities = ParseQuantities("memory");
  for (const auto& [base, candidate, sides] :
       {std::tuple(0.0, 0.0, 2u), std::tuple(1000.0, 0.0, 1u), std::tuple(0.0, 1000.0, 1u)}) {
    request.base = {RunOf(base)};
    request.candidate = {RunOf(candidate)};
    const GateResult result = Gate(request);
    EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
    ASSERT_EQ(result.quantities[0].unrecorded.size(), sides);
    EXPECT_EQ(result.quantities[0].unrecorded.back(), candidate == 0 ? "b" : "a");
    EXPECT_EQ(result.notes.size(), sides);
  }
}

// A baseline may have nothing of a quantity: more of it is without end, nothing of it is no change.
TEST(Gate, ZeroDurations) {
  GateRequest request = RequestOf(0.02);
  request.in_turn = true;
  for (int i = 0; i < 10; ++i) {
    request.base.push_back(RunOf(0));
    request.candidate.push_back(RunOf(0));
  }
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kFine);
  request.in_turn = false;
  request.base.resize(1);
  request.candidate.resize(1);
  EXPECT_EQ(Gate(request).quantities[0].change.high, 0);
  request.candidate.assign(10, RunOf(5));
  request.base.assign(10, RunOf(0));
  request.in_turn = true;
  const GateResult result = Gate(request);
  EXPECT_EQ(result.verdict, GateVerdict::kWorse);
  EXPECT_TRUE(std::isinf(result.quantities[0].change.value));
}

// A few rounds that differ by anything say nothing: 8 are the fewest whose signs are rare enough.
TEST(Gate, FewRoundsCannotTell) {
  GateRequest request = RequestOf(0.02);
  request.in_turn = true;
  for (int i = 0; i < 7; ++i) {
    request.base.push_back(RunOf(1));
    request.candidate.push_back(RunOf(3));
    if (i > 0) {
      EXPECT_EQ(Gate(request).verdict, GateVerdict::kCannotTell) << i;
      EXPECT_EQ(Gate(request).quantities[0].wanted_runs, 8);
    }
  }
  request.base.push_back(RunOf(1));
  request.candidate.push_back(RunOf(3));
  EXPECT_EQ(Gate(request).verdict, GateVerdict::kWorse);
}

TEST(Gate, ASideWithoutRunsIsAnError) {
  GateRequest request = RequestOf(0.02);
  request.base = {RunOf(1)};
  EXPECT_THROW(Gate(request), Error);
}

// Looks are halves of the rounds for which the error that is left to each still tells something: with two
// looks 2^-9 < 0.0025, with three 2^-10 < 0.0017.
TEST(Gate, LooksShareTheError) {
  EXPECT_EQ(LooksOf(5, 1), (std::vector{5}));
  EXPECT_EQ(LooksOf(20, 1), (std::vector{10, 20}));
  EXPECT_EQ(LooksOf(40, 1), (std::vector{10, 20, 40}));
}

TEST(Gate, RunsTakeTurnsByTheirClocks) {
  const auto at = [](std::initializer_list<int64_t> times) {
    std::vector<RunSample> runs;
    for (const int64_t time : times) runs.push_back({.utc_ns = time});
    return runs;
  };
  EXPECT_TRUE(RanInTurn(at({1, 4, 5}), at({2, 3, 6})));
  EXPECT_FALSE(RanInTurn(at({1, 2, 3}), at({4, 5, 6})));
  EXPECT_FALSE(RanInTurn(at({1, 2}), at({3, 4, 5})));
  EXPECT_FALSE(RanInTurn(at({0, 0}), at({0, 0})));
}

}  // namespace
}  // namespace lanescope::study
