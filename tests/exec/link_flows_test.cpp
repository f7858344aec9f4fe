// SPDX-License-Identifier: Apache-2.0
// Times are given, nothing is measured.
#include "exec/messages/link_flows.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/base/error.h"
#include "core/machine/tasks.h"

namespace lanescope::exec {
namespace {

// Three tasks; links of `link` bytes a second, all of a task through an interface of `nic`, one byte a ns
// being 1e9.
Machine ThreeTasks(double link, double nic) {
  Machine machine = ParseMachine(R"({"devices": [
    {"name": "/job:w/task:0/CPU:0", "kind": "host"}, {"name": "/job:w/task:1/CPU:0", "kind": "host"},
    {"name": "/job:w/task:2/CPU:0", "kind": "host"}],
    "links": [
    {"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"},
    {"between": ["/job:w/task:0/CPU:0", "/job:w/task:2/CPU:0"], "bandwidth": "1GB/s"},
    {"between": ["/job:w/task:1/CPU:0", "/job:w/task:2/CPU:0"], "bandwidth": "1GB/s"}],
    "nics": [{"tasks": ["/job:w/task:0"], "bandwidth": "1GB/s"}, {"tasks": ["/job:w/task:1"], "bandwidth": "1GB/s"},
             {"tasks": ["/job:w/task:2"], "bandwidth": "1GB/s"}]})");
  for (LinkSpec& spec : machine.links) spec.bandwidth = link;
  for (NicSpec& spec : machine.nics) spec.bandwidth = nic;
  return machine;
}

Route Between(const Machine& machine, int from, int to) {
  const MachineTasks tasks = TasksOf(machine);
  return machine.RouteBetween(tasks.hosts[static_cast<size_t>(from)], tasks.hosts[static_cast<size_t>(to)]);
}

// Law: alone, a flow takes its bytes by the narrowest of what it passes, from its beginning on.
TEST(LinkFlows, AloneItTakesItsBytes) {
  const Machine machine = ThreeTasks(0.5e9, 1e9);
  LinkFlows flows(machine);
  const int flow = flows.Begin(Between(machine, 0, 1), 1000, 100'000);
  EXPECT_EQ(flows.EndNs(flow), 1000 + 200'000);
  flows.MoveTo(50'000);
  EXPECT_EQ(flows.EndNs(flow), 201'000);
  flows.MoveTo(10'000'000);
  EXPECT_EQ(flows.EndNs(flow), 201'000) << "looked at late, it has ended when it ended";
  const int nothing = flows.Begin(Between(machine, 0, 2), 10'000'500, 0);
  EXPECT_EQ(flows.EndNs(nothing), 10'000'500);
}

// Laws: two that leave one task share its interface from when both are on their way until one is through, and
// what comes in meanwhile has the other direction.
TEST(LinkFlows, ThoseOfOneInterfaceShareIt) {
  const Machine machine = ThreeTasks(1e9, 1e9);
  LinkFlows flows(machine);
  const int first = flows.Begin(Between(machine, 0, 1), 0, 100'000);
  const int second = flows.Begin(Between(machine, 0, 2), 50'000, 100'000);
  const int in = flows.Begin(Between(machine, 1, 0), 0, 100'000);
  // 50 us alone, then half of it for 100 us; the second goes on alone after that.
  EXPECT_EQ(flows.EndNs(first), 150'000);
  EXPECT_EQ(flows.EndNs(second), 200'000);
  EXPECT_EQ(flows.EndNs(in), 100'000);
  flows.MoveTo(60'000);
  flows.Forget(second);
  EXPECT_EQ(flows.EndNs(first), 105'000) << "55 us are left to move, at its full speed again";
}

// Law: what a slow link keeps one from using is the others'.
TEST(LinkFlows, TheRestIsTheOthers) {
  Machine machine = ThreeTasks(1e9, 1e9);
  machine.links[0].bandwidth = 0.25e9;
  LinkFlows flows(machine);
  const int slow = flows.Begin(Between(machine, 0, 1), 0, 100'000);
  const int fast = flows.Begin(Between(machine, 0, 2), 0, 75'000);
  EXPECT_EQ(flows.EndNs(slow), 400'000);
  EXPECT_EQ(flows.EndNs(fast), 100'000);
}

// Law: one that is told of late ends when it would have, where nobody shares its way.
TEST(LinkFlows, OneMayBeToldOfLate) {
  const Machine machine = ThreeTasks(1e9, 1e9);
  LinkFlows flows(machine);
  flows.MoveTo(30'000);
  const int late = flows.Begin(Between(machine, 0, 1), 10'000, 100'000);
  EXPECT_EQ(flows.EndNs(late), 110'000);
  const int long_ago = flows.Begin(Between(machine, 1, 2), 0, 20'000);
  EXPECT_EQ(flows.EndNs(long_ago), 30'000) << "through, but not before it was looked at";
  // The second of an interface has half of it, also of what passed before it was told of.
  const int beside = flows.Begin(Between(machine, 0, 2), 10'000, 30'000);
  EXPECT_EQ(flows.EndNs(beside), 30'000 + 2 * 20'000);
  EXPECT_EQ(flows.EndNs(late), 110'000 + 20'000);
}

// Laws, for random flows looked at in random moments: no resource carries more than it can, none ends before
// it would alone, and looking changes nothing.
TEST(LinkFlows, RandomFlowsKeepTheLaws) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Machine machine = ThreeTasks(1e9, 0.8e9);
    LinkFlows looked(machine), left(machine);
    struct Begun {
      int number, other;
      int64_t begin_ns, bytes;
      std::vector<int> resources;
    };
    std::vector<Begun> begun;
    int64_t now = 0;
    for (int i = 0; i < 8; ++i) {
      now += static_cast<int64_t>(random() % 40'000);
      if (random() % 2 == 0) looked.MoveTo(now);
      const auto from = static_cast<int>(random() % 3);
      const Route route = Between(machine, from, (from + 1 + static_cast<int>(random() % 2)) % 3);
      const auto bytes = static_cast<int64_t>(random() % 100'000);
      looked.MoveTo(now);
      left.MoveTo(now);
      begun.push_back(
          {looked.Begin(route, now, bytes), left.Begin(route, now, bytes), now, bytes, route.resources});
    }
    std::vector<double> carried(static_cast<size_t>(machine.num_resources()), 0);
    int64_t last = 0;
    for (const Begun& flow : begun) {
      const int64_t end = looked.EndNs(flow.number);
      EXPECT_NEAR(static_cast<double>(end), static_cast<double>(left.EndNs(flow.other)), 8);
      EXPECT_GE(end + 2, flow.begin_ns + static_cast<int64_t>(static_cast<double>(flow.bytes) / 0.8));
      last = std::max(last, end);
      for (const int resource : flow.resources)
        carried[static_cast<size_t>(resource)] += static_cast<double>(flow.bytes);
    }
    for (int r = 0; r < machine.num_resources(); ++r) {
      EXPECT_LE(carried[static_cast<size_t>(r)],
                machine.ResourceBandwidth(r) * 1e-9 * static_cast<double>(last - begun[0].begin_ns) + 8);
    }
  }
}

}  // namespace
}  // namespace lanescope::exec
