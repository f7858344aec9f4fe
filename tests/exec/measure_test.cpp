// SPDX-License-Identifier: Apache-2.0
// Measured figures are checked for sense, not for size.
#include "exec/measure/measure.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

TEST(MeasureHost, FiguresMakeSense) {
  const HostMeasurement host = MeasureHost(VirtualMachine(2, 1), 60);
  EXPECT_GE(host.cores, 1);
  EXPECT_LE(host.cores, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(host.flops_per_second, 1e6);
  EXPECT_GT(host.bytes_per_second, 1e6);
  EXPECT_GT(host.copy_cores, 0);
  EXPECT_LE(host.copy_cores, 1);
  for (const auto& victim : host.slowdown) {
    for (const double factor : victim) EXPECT_GE(factor, 1);  // a neighbour never helps
  }
}

// A machine without GPUs has no link to pace; its copies are plain ones.
TEST(MeasureHost, WithoutLinks) { EXPECT_GT(MeasureHost(VirtualMachine(0, 1), 30).flops_per_second, 1e6); }

// Law: no copy is faster than its link; both directions of a duplex link are measured.
TEST(MeasureLinks, KeepToTheLinks) {
  const Machine machine = VirtualMachine(2, 1);
  const auto times = MeasureLinks(machine, 1 << 20, 3);
  const int64_t sizes = static_cast<int64_t>(times.size()) / 6;
  EXPECT_EQ(static_cast<int64_t>(times.size()), 6 * sizes);
  for (const LinkTime& time : times) {
    const Route route = machine.RouteBetween(time.src, time.dst);
    const double least =
        static_cast<double>(route.latency_ns) + 1e9 * static_cast<double>(time.bytes) / route.bandwidth;
    EXPECT_GE(static_cast<double>(time.ns) + 20000, least);
    EXPECT_LE(time.bytes, 1 << 20);
  }
}

TEST(MeasureFetches, SizesGrowAndNoTimeIsNegative) {
  const auto times = MeasureFetches(3);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i].extra_ns, 0);
    if (i > 0) {
      EXPECT_GT(times[i].bytes, times[i - 1].bytes);
    }
  }
}

TEST(Measure, EndsWhenCancelled) {
  const std::atomic<bool> cancelled{true};
  const Machine machine = VirtualMachine(2, 1);
  EXPECT_THROW(MeasureHost(machine, 60'000, &cancelled), Error);
  EXPECT_THROW(MeasureLinks(machine, 1 << 30, 7, &cancelled), Error);
  EXPECT_THROW(MeasureFetches(1000, &cancelled), Error);
}

}  // namespace
}  // namespace lanescope::exec
