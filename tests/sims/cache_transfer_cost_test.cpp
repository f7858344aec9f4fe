// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/cache_transfer_cost.h"

#include <gtest/gtest.h>

#include "sims/effects/cache_transfers.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

TEST(CacheTransferCurve, IsLinearBetweenItsPointsAndConstantBeyond) {
  const CacheTransferCurve curve({{100, 10}, {200, 30}});
  EXPECT_EQ(curve.Ns(0), 0);
  EXPECT_EQ(curve.Ns(50), 5);
  EXPECT_EQ(curve.Ns(100), 10);
  EXPECT_EQ(curve.Ns(150), 20);
  EXPECT_EQ(curve.Ns(1 << 20), 30);
  EXPECT_EQ(CacheTransferCurve().Ns(1000), 0);
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

// Law: a measured launch took what fetching its bytes took, but at most half of it.
TEST(CacheTransfers, TakesOutWhatFetchingCostButAtMostHalf) {
  CacheTransfers fetches;
  fetches.curve = CacheTransferCurve({{100, 10}, {1000, 90}});
  const Machine machine = StarMachine(1, 1e9, 0, 0);
  EXPECT_EQ(fetches.Without({{}, 100, 0}, machine), 100);
  EXPECT_EQ(fetches.Without({{}, 100, 100}, machine), 90);
  EXPECT_EQ(fetches.Without({{}, 100, 1000}, machine), 50);
}

}  // namespace
}  // namespace lanescope::sims
