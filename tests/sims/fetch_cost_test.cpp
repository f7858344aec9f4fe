// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/fetch_cost.h"

#include <gtest/gtest.h>

#include "sims/fit/calibrate.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

TEST(FetchCurve, IsLinearBetweenItsPointsAndConstantBeyond) {
  const FetchCurve curve({{100, 10}, {200, 30}});
  EXPECT_EQ(curve.Ns(0), 0);
  EXPECT_EQ(curve.Ns(50), 5);
  EXPECT_EQ(curve.Ns(100), 10);
  EXPECT_EQ(curve.Ns(150), 20);
  EXPECT_EQ(curve.Ns(1 << 20), 30);
  EXPECT_EQ(FetchCurve().Ns(1000), 0);
}

// A copy of 64 bytes with two readers on its device: the one of smaller rank fetches, the other finds the
// bytes in the caches. A modelled GPU fetches nothing.
TEST(FetchedBytes, AreChargedToTheFirstReader) {
  Machine machine = StarMachine(3, 1e9, 0, 0);
  const auto gpus = machine.Gpus();
  machine.devices[gpus[1]].kind = DeviceKind::kVirtual;
  ScheduleMaker maker;
  const QueueId in = maker.Queue(gpus[1], QueueKind::kCopyIn), there = maker.Queue(gpus[1]);
  const QueueId in2 = maker.Queue(gpus[2], QueueKind::kCopyIn), elsewhere = maker.Queue(gpus[2]);
  const CommandId copy = maker.Copy(in, gpus[0], gpus[1], 64, 10);
  maker.Launch(there, 5, {copy}, 8);
  maker.Launch(there, 5, {copy}, 7);
  const CommandId second = maker.Copy(in2, gpus[0], gpus[2], 32, 10);
  maker.Launch(elsewhere, 5, {second});
  EXPECT_EQ(FetchedBytes(maker.Build(), machine), (IdVector<CommandId, int64_t>{0, 0, 64, 0, 0}));
}

TEST(WithoutFetches, TakesOutWhatFetchingCostButAtMostHalf) {
  std::vector<OpSample> ops(3);
  ops[0].ns = ops[1].ns = ops[2].ns = 100;
  ops[1].fetched_bytes = 100;
  ops[2].fetched_bytes = 1000;
  const auto found = WithoutFetches(ops, FetchCurve({{100, 10}, {1000, 90}}));
  EXPECT_EQ(found[0].ns, 100);
  EXPECT_EQ(found[1].ns, 90);
  EXPECT_EQ(found[2].ns, 50);
}

}  // namespace
}  // namespace lanescope::sims
