// SPDX-License-Identifier: Apache-2.0
// The cost of a collective on the links of a machine, and the algorithm that it leads to.
#include <gtest/gtest.h>

#include "core/collective/collective_cost.h"
#include "core/collective/collective_schedule.h"
#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "core/machine/cluster_tasks.h"
#include "tests/support/collective_graph.h"

namespace lanescope {
namespace {

constexpr int64_t kLatencyNs = 5000;

// The hosts of tasks, any two of which have a link of 1 byte a ns, and work that takes nothing.
Machine Hosts(const std::string& tasks) {
  Machine machine = MachineOfTasks(VirtualMachine(0, 1), ParseClusterTasks("worker=" + tasks));
  for (DeviceSpec& device : machine.devices) device.memory_bandwidth = 1e18;
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 1e9;
    link.latency_ns = kLatencyNs;
  }
  return machine;
}

std::vector<DeviceId> AllDevices(const Machine& machine) {
  const IdRange<DeviceId> ids = machine.devices.ids();
  return {ids.begin(), ids.end()};
}

// The time of an all-reduce of float32 tensors.
int64_t AllReduceNs(const Machine& machine, CollectiveBy by, int64_t bytes) {
  const MachineTasks tasks = TasksOf(machine);
  const std::vector<DeviceId> devices = AllDevices(machine);
  CollectiveCost cost(machine, tasks, devices, false);
  std::vector<Endpoint> tensors;
  for (size_t i = 0; i < devices.size(); ++i) tensors.push_back(cost.Begin(i, bytes));
  if (by == CollectiveBy::kHierarchical) {
    ScheduleHierarchicalAllReduce(NearDevices(machine, devices), CollectiveBy::kRing, tensors, bytes / 4,
                                  &cost);
  } else {
    ScheduleAllReduce(by, tensors, bytes / 4, &cost);
  }
  return cost.Ns();
}

// Laws: the formulas of n devices whose messages take a + S b and share nothing.
TEST(CollectiveCost, AUniformNetworkTakesWhatTheFormulasSay) {
  for (const int64_t log : {1, 2, 3, 4}) {
    const int64_t n = int64_t{1} << log;
    const Machine machine = Hosts("a:" + std::to_string(n));
    for (const int64_t bytes : {64, 1 << 20}) {
      SCOPED_TRACE(fmt::format("{} devices, {} bytes", n, bytes));
      EXPECT_EQ(AllReduceNs(machine, CollectiveBy::kRing, bytes), 2 * (n - 1) * (kLatencyNs + bytes / n));
      EXPECT_EQ(AllReduceNs(machine, CollectiveBy::kTree, bytes), 2 * log * (kLatencyNs + bytes));
      EXPECT_EQ(AllReduceNs(machine, CollectiveBy::kOneDevice, bytes), 2 * (kLatencyNs + bytes));
    }
  }
}

// Laws: what one device sends to n - 1 others shares its interface, and so does what it gets; around a ring
// nothing does. Of two computers each interface carries one of a hierarchy's tensors each way, half a tensor
// at a time around the ring of two.
TEST(CollectiveCost, MessagesShareInterfaces) {
  constexpr int64_t kBytes = 1 << 20;
  const Machine four = Hosts("a,b,c,d");
  EXPECT_EQ(AllReduceNs(four, CollectiveBy::kOneDevice, kBytes), 2 * (kLatencyNs + 3 * kBytes));
  EXPECT_EQ(AllReduceNs(four, CollectiveBy::kRing, kBytes), 6 * (kLatencyNs + kBytes / 4));
  const Machine two_by_four = Hosts("a:4,b:4");
  EXPECT_EQ(AllReduceNs(two_by_four, CollectiveBy::kHierarchical, kBytes),
            2 * (2 * (kLatencyNs + kBytes) + (kLatencyNs + kBytes / 2)));
  // Every message of the trees' first round is between tasks of one computer.
  const Machine apart = Hosts("a,b:2,c");
  EXPECT_EQ(NearDevices(apart, AllDevices(apart)), (DeviceGroups{{0}, {1, 2}, {3}}));
}

// Law: adding up costs what memory takes for it: three tensors a sum.
TEST(CollectiveCost, WorkTakesTheMemorysTime) {
  Machine machine = Hosts("a:2");
  for (DeviceSpec& device : machine.devices) {
    device.memory_bandwidth = 3e9;
    device.launch_ns = 70;
  }
  EXPECT_EQ(AllReduceNs(machine, CollectiveBy::kOneDevice, 3000), 2 * (kLatencyNs + 3000) + 70 + 3000);
}

// Law: a message alone takes its time by the link's table, faster or slower than the link's bandwidth, and
// without bytes, too.
TEST(CollectiveCost, TablesOfLinksDecide) {
  Machine machine = Hosts("a:2");
  machine.links[0].table = {{100, 9000}, {200, 9010}, {1000, 50'000}};
  for (const auto& [bytes, ns] : {std::pair{0, 9000}, {100, 9000}, {200, 9010}, {1000, 50'000}})
    EXPECT_EQ(AllReduceNs(machine, CollectiveBy::kOneDevice, bytes), 2 * ns) << bytes;
}

std::vector<std::string> NamesOf(const Machine& machine) {
  std::vector<std::string> names;
  for (const DeviceSpec& device : machine.devices) names.push_back(device.name);
  return names;
}

// The nodes of an all-reduce of so many bytes on these devices. `told`: --all-reduce.
std::string Expanded(const Machine* machine, const std::vector<std::string>& devices, int64_t bytes,
                     const std::string& told = "") {
  GraphBuilder builder;
  const Shape shape{bytes / 4};
  std::vector<Endpoint> tensors;
  for (size_t i = 0; i < devices.size(); ++i)
    tensors.push_back(builder.Placeholder("x" + std::to_string(i), DataType::kFloat, shape));
  test::CollectiveWriter(&builder, devices, "").Write(CollectiveKind::kAllReduce, "all", shape, tensors);
  return GraphToText(
      InlineFunctions(builder.Take(), {.collectives = {.all_reduce = told, .machine = machine}}));
}

// Laws: latencies ask for few messages behind each other, many bytes for few through each interface; whoever
// says the algorithm gets it.
TEST(CollectiveChoice, IsWhatCostsLeastOnTheLinks) {
  const auto is = [](const Machine& machine, int64_t bytes, const std::string& by) {
    return Expanded(&machine, NamesOf(machine), bytes) == Expanded(&machine, NamesOf(machine), bytes, by);
  };
  Machine far = Hosts("a,b,c,d,e,f,g,h");
  for (LinkSpec& link : far.links) link.latency_ns = 10'000'000;
  EXPECT_TRUE(is(far, 1000, "one-device"));
  EXPECT_FALSE(is(far, 1000, "tree"));
  EXPECT_TRUE(is(far, 100 << 20, "ring"));
  Machine near = Hosts("a:2,b:2");
  for (LinkSpec& link : near.links) link.bandwidth = 8e9;  // the interfaces carry an eighth of that
  EXPECT_TRUE(is(near, 16 << 20, "hierarchical"));
  EXPECT_FALSE(is(near, 16 << 20, "ring"));
}

// Law: where the machine is not known, lacks the devices or has no way between them, size alone decides.
TEST(CollectiveChoice, IsBySizeWithoutAMachine) {
  const Machine four = Hosts("a,b,c,d"), others = Hosts("a,b");
  Machine apart = four;
  apart.links.clear();
  const std::vector<std::string> names = NamesOf(four);
  for (const auto& [bytes, suited] : {std::pair{1 << 10, "tree"}, {1 << 20, "ring"}}) {
    for (const Machine* machine : {static_cast<const Machine*>(nullptr), &others, &std::as_const(apart)})
      EXPECT_TRUE(Expanded(machine, names, bytes) == Expanded(nullptr, names, bytes, suited)) << bytes;
  }
}

}  // namespace
}  // namespace lanescope
