// SPDX-License-Identifier: Apache-2.0
// Durations are tested from below only: a busy machine may always be slower.
#include "exec/messages/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/record/recorder.h"

namespace lanescope::exec {
namespace {

// CPU:0, GPU:0 and GPU:1; the GPUs reach the host over one bus and each other directly.
Machine BusMachine(double link, double bus, int64_t latency_ns) {
  Machine machine = VirtualMachine(2, 1);
  machine.buses.push_back({"root complex", bus});
  for (LinkSpec& spec : machine.links) {
    spec.bandwidth = link;
    spec.latency_ns = latency_ns;
    if (spec.a == machine.host() || spec.b == machine.host()) spec.bus = 0;
  }
  return machine;
}

std::vector<char> Bytes(int64_t count) {
  std::vector<char> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

class PacerTest : public ::testing::Test {
 protected:
  int64_t TimeCopy(Pacer* pacer, const Route& route, int64_t bytes) {
    const auto from = Bytes(bytes);
    std::vector<char> to(from.size());
    const int64_t start = NowNs();
    pacer->Copy(route, to.data(), from.data(), bytes, cancelled_);
    const int64_t duration = NowNs() - start;
    EXPECT_EQ(from, to);
    return duration;
  }

  std::atomic<bool> cancelled_{false};
};

// The pacer's clock and the one that tests read may differ by this much.
constexpr int64_t kClockNs = 20000;

// Law: duration >= latency + bytes / bandwidth of the narrowest resource on the way.
TEST_F(PacerTest, NeverFasterThanTheRoute) {
  const Machine machine = BusMachine(400e6, 200e6, 100000);
  Pacer pacer(machine);
  const auto gpus = machine.Gpus();
  for (const int64_t bytes : {int64_t{0}, int64_t{4}, int64_t{65536}, int64_t{65537}, int64_t{1} << 20}) {
    EXPECT_GE(TimeCopy(&pacer, machine.RouteBetween(gpus[0], gpus[1]), bytes) + kClockNs,
              100000 + bytes * 1000000000 / 400000000);
    EXPECT_GE(TimeCopy(&pacer, machine.RouteBetween(machine.host(), gpus[0]), bytes) + kClockNs,
              100000 + bytes * 1000000000 / 200000000);
  }
}

// Law: a staged route passes both links and has both latencies.
TEST_F(PacerTest, StagedRoute) {
  Machine machine = BusMachine(400e6, 200e6, 100000);
  const auto gpus = machine.Gpus();
  std::erase_if(machine.links, [&](const LinkSpec& link) { return link.a == gpus[0] && link.b == gpus[1]; });
  const Route route = machine.RouteBetween(gpus[0], gpus[1]);
  EXPECT_TRUE(route.staged);
  Pacer pacer(machine);
  EXPECT_GE(TimeCopy(&pacer, route, 1 << 20) + kClockNs, route.latency_ns + (int64_t{1} << 20) * 5);
}

int64_t TimeTwoCopies(Pacer* pacer, const Route& a, const Route& b, int64_t bytes) {
  const std::atomic<bool> never{false};
  const auto from = Bytes(bytes);
  std::vector<char> to_a(from.size()), to_b(from.size());
  const int64_t start = NowNs();
  std::thread other([&] { pacer->Copy(b, to_b.data(), from.data(), bytes, never); });
  pacer->Copy(a, to_a.data(), from.data(), bytes, never);
  other.join();
  return NowNs() - start;
}

// Law: copies that share a bus take the time of the sum of their bytes.
TEST_F(PacerTest, CopiesOnOneBusShareIt) {
  const Machine machine = BusMachine(1e9, 100e6, 0);
  const auto gpus = machine.Gpus();
  Pacer pacer(machine);
  constexpr int64_t kBytes = 2 << 20;
  EXPECT_GE(TimeTwoCopies(&pacer, machine.RouteBetween(machine.host(), gpus[0]),
                          machine.RouteBetween(machine.host(), gpus[1]), kBytes) +
                kClockNs,
            2 * kBytes * 10);
}

// Law: one direction of a link that is not duplex slows the other; of a duplex link it does not (checked
// through the reservations: sanity only).
TEST_F(PacerTest, HalfDuplexLinksShareTheirBandwidth) {
  Machine machine = BusMachine(100e6, 1e12, 0);
  for (LinkSpec& link : machine.links) link.duplex = false;
  const auto gpus = machine.Gpus();
  Pacer pacer(machine);
  constexpr int64_t kBytes = 1 << 20;
  EXPECT_GE(TimeTwoCopies(&pacer, machine.RouteBetween(gpus[0], gpus[1]),
                          machine.RouteBetween(gpus[1], gpus[0]), kBytes) +
                kClockNs,
            2 * kBytes * 10);
}

// Law: a cancelled copy returns at once, wherever it waits; the next copy is not held up by what it reserved.
TEST_F(PacerTest, CancellationStopsACopy) {
  const Machine machine = BusMachine(1e3, 1e12, 0);  // 65 s a chunk
  const auto gpus = machine.Gpus();
  Pacer pacer(machine);
  const auto from = Bytes(1 << 20);
  std::vector<char> to(from.size());
  const int64_t start = NowNs();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cancelled_.store(true);
  });
  pacer.Copy(machine.RouteBetween(gpus[0], gpus[1]), to.data(), from.data(), 1 << 20, cancelled_);
  canceller.join();
  EXPECT_LT(NowNs() - start, int64_t{20} * 1000000000);
  cancelled_.store(false);
  const int64_t next = NowNs();
  pacer.Copy(machine.RouteBetween(gpus[0], gpus[1]), to.data(), from.data(), 4, cancelled_);
  EXPECT_LT(NowNs() - next, int64_t{20} * 1000000000);
}

TEST(EmulationLimits, AreNamed) {
  Route route;
  route.bandwidth = 1e6;
  route.latency_ns = 60000;
  EXPECT_EQ(EmulationLimit(route), "");
  route.latency_ns = 1000;
  EXPECT_NE(EmulationLimit(route).find("latency"), std::string::npos);
  route.bandwidth = 1e15;
  EXPECT_NE(EmulationLimit(route).find("bandwidth"), std::string::npos);
  EXPECT_GT(MeasuredCopyBandwidth(), 1e6);
}

}  // namespace
}  // namespace lanescope::exec
