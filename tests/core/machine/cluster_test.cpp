// SPDX-License-Identifier: Apache-2.0
#include "core/machine/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/machine/collective.h"
#include "core/machine/machine.h"
#include "core/machine/named_cluster.h"

namespace lanescope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string RefusalOf(const std::string& text) {
  try {
    MakeCluster(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "";
}

int64_t AllReduce(const Machine& machine, int64_t bytes, const RankGroup& ranks,
                  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNccl) {
  return CollectiveNs(*machine.cluster, {CollectiveKind::kAllReduce, algorithm, bytes, ranks});
}

// A machine whose collectives go by the formulas that NCCL chooses by.
Machine WithoutFabric(const std::string& text) {
  Machine machine = MakeCluster(text);
  machine.cluster->fabric.clear();
  return machine;
}

TEST(ClusterTest, IsMadeOfOneLine) {
  const Machine machine = MakeCluster("dgx-a100:512,fat-tree,400Gb/s");
  EXPECT_EQ(machine.num_devices(), 1 + 512);
  EXPECT_EQ(machine.device(machine.Gpus()[511]).local_name(), "GPU:511");
  EXPECT_EQ(machine.cluster->nic_bandwidth, 50e9) << "of each of 8 ports";
  EXPECT_TRUE(machine.cluster->IsNonBlocking());
  EXPECT_FALSE(MakeCluster("dgx-h100:32,rails,oversubscription=2,nics=4").cluster->IsNonBlocking());
  EXPECT_EQ(MakeCluster("gb200-nvl72:144").num_devices(), 1 + 144);
}

TEST(ClusterTest, HasNodesOfManyKinds) {
  EXPECT_EQ(MakeCluster("h100x2").num_devices(), 1 + 2);
  EXPECT_EQ(MakeCluster("h100x2").cluster->fabric, "H100-SXM");
  EXPECT_EQ(MakeCluster("h100x2:6").cluster->nodes, 3);
  const Machine boards = MakeCluster("pcie-4090:8");
  EXPECT_EQ(boards.num_devices(), 1 + 8) << "boards of one host";
  EXPECT_EQ(boards.cluster->switch_bandwidth, 32e9);
  EXPECT_EQ(MakeCluster("pcie-l40s:8").cluster->fabric, "L40S");
  EXPECT_EQ(MakeCluster("dgx-b200:8,gpus=4").num_devices(), 1 + 8);
  EXPECT_EQ(MakeCluster("dgx-b300:16").cluster->nic_bandwidth, 100e9);
  EXPECT_EQ(MakeCluster("gb300-nvl72").num_devices(), 1 + 72);
  EXPECT_THAT(RefusalOf("dgx-h10"), HasSubstr("did you mean dgx-h100?"));
  EXPECT_THAT(RefusalOf("pcie-4091:8"), HasSubstr("no such kind of machine"));
  EXPECT_THAT(RefusalOf("pcie-b200:8"), HasSubstr("no B200-SXM is a board on PCIe alone"));
  EXPECT_THAT(RefusalOf("h100x0"), HasSubstr("whole number from 1"));
}

// Law: the number behind the colon is that of the GPUs; nodes=N says the nodes.
TEST(ClusterTest, CountsGpus) {
  const auto shape = [](const char* text) {
    const Cluster cluster = ClusterOf(text).cluster;
    return std::vector<int>{cluster.nodes, cluster.gpus_per_node, cluster.nics_per_node};
  };
  EXPECT_THAT(shape("dgx-h100:64"), ElementsAre(8, 8, 8));
  EXPECT_THAT(shape("dgx-h100,nodes=64"), ElementsAre(64, 8, 8));
  EXPECT_THAT(shape("dgx-h100:4"), ElementsAre(1, 4, 4)) << "a part of a node";
  EXPECT_THAT(shape("h100x2,nodes=3"), ElementsAre(3, 2, 2));
  EXPECT_THAT(shape("gb200-nvl72:64"), ElementsAre(1, 64, 64));
  EXPECT_THAT(shape("gb200-nvl72:512,gpus=64"), ElementsAre(8, 64, 64));
  EXPECT_THAT(shape("pcie-4090:16,gpus=8"), ElementsAre(2, 8, 8));
  EXPECT_EQ(ClusterOf("dgx-h100:131072").cluster.num_gpus(), 131'072) << "which have no list";
  EXPECT_THAT(RefusalOf("dgx-h100:131072"), HasSubstr("more than 32768 GPUs"));
  EXPECT_THAT(RefusalOf("dgx-h100:12"), HasSubstr("not whole nodes of 8: take 8 GPUs, or nodes=2"));
  EXPECT_THAT(RefusalOf("dgx-h100:2,gpus=4"), HasSubstr("not whole nodes of 4: take 4 GPUs, or nodes=2"));
  EXPECT_THAT(RefusalOf("h100x8:2"), HasSubstr("not whole nodes of 8: take 8 GPUs, or nodes=2"));
  EXPECT_THAT(RefusalOf("dgx-h100:64,nodes=8"), HasSubstr("not both"));
}

TEST(ClusterTest, RefusesWhatIsNoMachine) {
  EXPECT_THAT(RefusalOf(""), HasSubstr("no such kind of machine"));
  EXPECT_THAT(RefusalOf("dgx-1"), HasSubstr("`lanescope devices --machines` lists them"));
  EXPECT_THAT(RefusalOf("dgx-a100:0"), HasSubstr("whole number from 1"));
  EXPECT_THAT(RefusalOf("dgx-a100:99999999"), HasSubstr("whole number from 1"));
  EXPECT_THAT(RefusalOf("dgx-a100:16,torus"), HasSubstr("'torus': there is no such setting"));
  EXPECT_THAT(RefusalOf("dgx-a100:16,-4Gb/s"), HasSubstr("out of range"));
  EXPECT_THAT(RefusalOf("dgx-a100:16,radix=1"), HasSubstr("from 2 to 4096"));
  EXPECT_THAT(RefusalOf("dgx-a100:16,colour=red"), HasSubstr("no such setting"));
  EXPECT_THAT(RefusalOf("dgx-a100:16,"), HasSubstr("there is no such setting"));
}

// Law: a machine file reads back as it was written, and is short however many GPUs there are.
TEST(ClusterTest, FileIsCompactAndReadsBack) {
  Machine machine = MakeCluster("dgx-a100:16384,rails,200Gb/s,oversubscription=2,radix=64");
  machine.cluster->collectives.push_back({"all-reduce", 8, {{1 << 20, 92'000}, {1 << 30, 8'200'000}}});
  const std::string text = MachineToJson(machine);
  EXPECT_LT(text.size(), 3000u);
  const Machine again = ParseMachine(text);
  EXPECT_EQ(again.num_devices(), 1 + 16384);
  EXPECT_EQ(MachineToJson(again), text);
  EXPECT_EQ(again.device(DeviceId(16384)).memory_bytes, int64_t{80} << 30);
}

TEST(ClusterTest, FilesAreChecked) {
  const auto refusal = [](const std::string& cluster) {
    try {
      ParseMachine("{\"cluster\": " + cluster + "}");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  const std::string gpu = R"("gpu": {"memory": "80GiB"})";
  EXPECT_EQ(refusal("{\"nodes\": 2, \"gpus_per_node\": 8, " + gpu + "}"), "");
  EXPECT_THAT(refusal("{\"nodes\": 0, \"gpus_per_node\": 8, " + gpu + "}"),
              HasSubstr("machine.cluster.nodes"));
  EXPECT_THAT(refusal("{\"nodes\": 9999, \"gpus_per_node\": 1024, " + gpu + "}"), HasSubstr("more than"));
  EXPECT_THAT(refusal("{\"nodes\": 2, \"gpus_per_node\": 8}"), HasSubstr("machine.cluster.gpu: missing"));
  EXPECT_THAT(
      refusal("{\"nodes\": 2, \"gpus_per_node\": 8, \"gpu\": {\"memory\": \"1GiB\", \"kind\": \"cuda\"}}"),
      HasSubstr("machine.cluster.gpu"));
  EXPECT_THAT(refusal("{\"nodes\": 2, \"gpus_per_node\": 8, \"network\": {\"kind\": \"ring\"}, " + gpu + "}"),
              HasSubstr("neither fat-tree nor rails"));
  EXPECT_THAT(refusal("{\"nodes\": 2, \"gpus_per_node\": 8, \"colour\": 1, " + gpu + "}"),
              HasSubstr("unknown key"));
  EXPECT_THROW(ParseMachine("{\"cluster\": {\"nodes\": 2, \"gpus_per_node\": 8, " + gpu +
                            "}, \"devices\": [{\"name\": \"GPU:0\", \"memory\": \"1GiB\"}]}"),
               Error);
}

// GPU 0 and 1 share a node; 0 and 8 are neighbours of one leaf switch; 0 and 8 * 100 are not.
TEST(ClusterTest, RoutesFollowTheTopology) {
  const Machine machine = MakeCluster("dgx-a100:1024,rails,200Gb/s,radix=40,oversubscription=4");
  const std::vector<DeviceId> gpus = machine.Gpus();
  const Route near = machine.RouteBetween(gpus[0], gpus[1]);
  EXPECT_EQ(near.bandwidth, 300e9);
  EXPECT_EQ(near.resources.size(), 2u);
  const Route leaf = machine.RouteBetween(gpus[0], gpus[8]);
  EXPECT_EQ(leaf.bandwidth, 25e9);
  EXPECT_EQ(leaf.resources.size(), 2u) << "two ports of one switch";
  const Route far = machine.RouteBetween(gpus[0], gpus[800]);
  EXPECT_EQ(far.resources.size(), 4u) << "and up and down the leaf switches";
  EXPECT_GT(far.latency_ns, leaf.latency_ns);
  EXPECT_EQ(machine.ResourceBandwidth(far.resources[2]), 20 * 25e9 / 4) << "20 nodes a leaf switch";
  EXPECT_EQ(machine.ResourceName(near.resources[0]), "GPU:0 to its switch");
  EXPECT_EQ(machine.RouteBetween(gpus[0], machine.host()).bandwidth, 25e9);
  for (const Route& route : {near, leaf, far}) {
    for (const int resource : route.resources) EXPECT_LT(resource, machine.num_resources());
  }
}

// A large all-reduce of n ranks passes 2 (n - 1) / n of its bytes through the narrowest link, 235 GB/s within
// a node, 24 GB/s of each port beyond, in 2 (n - 1) steps, each with NCCL's latency for large messages
// (Simple): 8.4 us once, 3.4 us within a node, 9.6 us between nodes, of which a ring has 2 (nodes - 1).
TEST(CollectiveTest, LargeOnesAreBoundByTheNarrowestLink) {
  const Machine machine = WithoutFabric("dgx-a100:128,fat-tree,200Gb/s");
  const int64_t bytes = int64_t{1} << 32;
  const auto expect = [&](const RankGroup& ranks, int nodes, double bytes_per_ns) {
    const double steps = 2 * (ranks.count - 1), across = 2 * (nodes - 1);
    const double latency_ns = 8400 + 3400 * (steps - across) + 9600 * across;
    const double passed = static_cast<double>(bytes) * steps / ranks.count;
    EXPECT_NEAR(static_cast<double>(AllReduce(machine, bytes, ranks)), passed / bytes_per_ns + latency_ns, 1);
  };
  expect({0, 8, 1}, 1, 235);
  expect({0, 16, 8}, 16, 24);
  expect({0, 128, 1}, 16, 8 * 24);
  EXPECT_EQ(AllReduce(machine, bytes, {3, 1, 1}), 0);
}

// Law: NCCL's choice is the better of ring and tree; trees win small sizes over many nodes, rings large ones.
TEST(CollectiveTest, NcclTakesTheBest) {
  const Machine machine = WithoutFabric("dgx-a100:512,fat-tree,200Gb/s");
  const RankGroup all{0, 512, 1};
  for (const int64_t bytes : {int64_t{4096}, int64_t{1} << 20, int64_t{1} << 32}) {
    const int64_t ring = AllReduce(machine, bytes, all, CollectiveAlgorithm::kRing);
    const int64_t tree = AllReduce(machine, bytes, all, CollectiveAlgorithm::kTree);
    EXPECT_EQ(AllReduce(machine, bytes, all), std::min(ring, tree));
    EXPECT_EQ(tree < ring, bytes < (int64_t{1} << 32)) << bytes;
  }
  const int64_t bytes = int64_t{1} << 26;
  EXPECT_LT(AllReduce(machine, bytes, all, CollectiveAlgorithm::kHierarchical),
            AllReduce(machine, bytes, all, CollectiveAlgorithm::kRing));
  EXPECT_THROW(
      CollectiveNs(*machine.cluster, {CollectiveKind::kAllGather, CollectiveAlgorithm::kTree, bytes, all}),
      Error);
  EXPECT_THROW(AllReduce(machine, bytes, {0, 513, 1}), Error);
  EXPECT_THROW(AllReduce(machine, bytes, {-1, 2, 1}), Error);
}

// An 8-GPU all-reduce of 512 MiB took 2.11 ms of bfloat16 and 2.68 ms of int8 on H100s, whose switches sum
// no bytes (aiconfigurator, NCCL 2.27 and 2.29); the law of a fabric is within 5% of large ones.
TEST(CollectiveTest, FabricsGoByTheirLaw) {
  const Machine machine = MakeCluster("dgx-h100");
  const auto ns = [&](CollectiveKind kind, int64_t bytes, int gpus, DataType dtype) {
    return static_cast<double>(
        CollectiveNs(*machine.cluster, {kind, CollectiveAlgorithm::kNccl, bytes, {0, gpus, 1}, dtype}));
  };
  constexpr int64_t kBytes = int64_t{512} << 20;
  EXPECT_NEAR(ns(CollectiveKind::kAllReduce, kBytes, 8, DataType::kBfloat16), 2.11e6, 0.05 * 2.11e6);
  EXPECT_NEAR(ns(CollectiveKind::kAllReduce, kBytes, 8, DataType::kInt8), 2.68e6, 0.05 * 2.68e6);
  EXPECT_NEAR(ns(CollectiveKind::kAllGather, kBytes, 4, DataType::kBfloat16), 1.27e6, 0.05 * 1.27e6);
  double last = 0;
  for (int gpus = 2; gpus <= 8; ++gpus) {
    const double now = ns(CollectiveKind::kAllGather, kBytes, gpus, DataType::kBfloat16);
    EXPECT_GT(now, last) << gpus << " GPUs: counts between those measured are between them";
    last = now;
  }
  const Collective large{CollectiveKind::kAllGather, CollectiveAlgorithm::kNccl, kBytes, {0, 8, 1}};
  EXPECT_GT(EstimateCollective(*machine.cluster, large).spread, 0);
  EXPECT_LT(EstimateCollective(*machine.cluster, large).spread, 0.05);
}

// A leaf switch of radix 8 has the 8 ports of one node; 16:1 leaves 8 x 2.5 GB/s / 16 = 1.25 GB/s of its way
// up, of which collectives reach 96%. A ring of 16 GPUs moves 2 x 15/16 of the bytes through it.
TEST(CollectiveTest, HeedTheNetwork) {
  const std::string node = "dgx-a100:16,fat-tree,20Gb/s,radix=8,oversubscription=";
  const int64_t bytes = int64_t{317} << 20;
  const RankGroup all{0, 16, 1};
  for (const bool named : {false, true}) {
    const auto made = [&](const std::string& text) {
      return named ? MakeCluster(text) : WithoutFabric(text);
    };
    const double passed = 2.0 * 15 / 16 * static_cast<double>(bytes);
    const auto narrow = static_cast<double>(AllReduce(made(node + "16"), bytes, all));
    EXPECT_GT(narrow, passed / 1.25);
    EXPECT_LT(narrow, 1.25 * passed / 1.25) << "and little more";
    EXPECT_GT(narrow, 8 * static_cast<double>(AllReduce(made(node + "1"), bytes, all)));
    EXPECT_LT(AllReduce(made("dgx-a100:16,rails,20Gb/s,radix=8,oversubscription=16"), bytes, all), narrow / 4)
        << "both nodes under one leaf of each rail";
    EXPECT_LT(AllReduce(made("dgx-a100:16,fat-tree,20Gb/s,radix=64,oversubscription=16"), bytes, all),
              narrow / 4)
        << "both under one leaf";
    Machine late = made(node + "1");
    const int64_t soon_ns = AllReduce(late, 1024, all);
    late.cluster->nic_latency_ns += 100'000;
    EXPECT_GT(AllReduce(late, 1024, all), soon_ns + 100'000);
  }
}

// The tuning log of NCCL 2.27.5 on H100s has 48 of 50 GB/s of each of a node's ports: of one GPU a node, 8
// nodes.
TEST(CollectiveTest, NodesOfAFabricAreJoinedAsNcclKnows) {
  const Machine machine = MakeCluster("dgx-h100:64,rails");
  const int64_t bytes = int64_t{4} << 30;
  const double ring_ns = static_cast<double>(bytes) * 2 * 7 / 8 / 48;
  EXPECT_NEAR(static_cast<double>(AllReduce(machine, bytes, {0, 8, 8})), ring_ns, 0.01 * ring_ns);
}

TEST(CollectiveTest, MeasuredTablesDecide) {
  Machine machine = MakeCluster("dgx-a100:16");
  machine.cluster->collectives.push_back({"all-reduce", 8, {{1000, 5000}, {2000, 7000}}});
  EXPECT_EQ(AllReduce(machine, 1500, {8, 8, 1}), 6000);
  EXPECT_NE(AllReduce(machine, 1500, {0, 4, 1}), 6000) << "another number of GPUs";
  EXPECT_NE(AllReduce(machine, 1500, {4, 8, 1}), 6000) << "two nodes";
}

}  // namespace
}  // namespace lanescope
