// SPDX-License-Identifier: Apache-2.0
// Rates of links, by their sources.
#include "traces/report/link_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/machine/machine.h"
#include "traces/read/trace_reader.h"
#include "traces/report/waits.h"

namespace lanescope::traces {
namespace {

// Two GPUs of a model, each with a kernel.
TraceRun RunOn(const std::string& model) {
  TraceRun run;
  run.texts = {"k"};
  for (const int device : {0, 1}) {
    TraceDevice described;
    described.id = device;
    described.model = model;
    run.devices.push_back(described);
    TraceLaunch launch;
    launch.device = device;
    launch.name = 0;
    launch.end_ns = 10;
    run.launches.push_back(launch);
  }
  return run;
}

TEST(LinkRateTest, ModulesHaveTheirDataSheet) {
  EXPECT_EQ(LinkRateOf(RunOn("Tesla V100-SXM2-16GB")).within, 150e9);
  EXPECT_EQ(LinkRateOf(RunOn("Tesla V100-SXM2-32GB")).source,
            "NVLink of Tesla V100-SXM2-32GB by its data sheet");
  EXPECT_EQ(LinkRateOf(RunOn("NVIDIA H100 80GB HBM3")).within, 450e9);
}

// Cards may have NVLink or not; a name that nobody knows says nothing.
TEST(LinkRateTest, CardsAndUnknownModelsAreUnknown) {
  for (const char* model : {"NVIDIA A100-PCIE-40GB", "NVIDIA H100 PCIe", "NVIDIA H200 NVL", "Card", ""}) {
    EXPECT_EQ(LinkRateOf(RunOn(model)).within, 0) << model;
    EXPECT_EQ(LinkRateOf(RunOn(model)).source, "") << model;
  }
}

// The links of a GPU add up: 25 and 25 to a switch.
TEST(LinkRateTest, RecordedConnectionsGoBeforeTheModel) {
  TraceRun run = RunOn("Tesla V100-SXM2-32GB");
  run.nvlinks = {{"GPU-a", "npu 0", 25'000'000'000},
                 {"GPU-a", "npu 1", 25'000'000'000},
                 {"GPU-b", "npu 0", 25'000'000'000}};
  EXPECT_EQ(LinkRateOf(run).within, 50e9);
}

TEST(LinkRateTest, TheMachineOfTheRunGoesBeforeBoth) {
  TraceRun run = RunOn("Tesla V100-SXM2-32GB");
  run.nvlinks = {{"GPU-a", "GPU-b", 25'000'000'000}};
  Machine machine = VirtualMachine(2, 1);
  for (LinkSpec& link : machine.links) link.bandwidth = 7e9;
  run.info.machine_json = MachineToJson(machine);
  EXPECT_EQ(LinkRateOf(run).within, 7e9);
  run.info.machine_json = "{";
  EXPECT_EQ(LinkRateOf(run).within, 25e9);
}

// A node of eight: nine ranks go through the network, where a GPU has 25 GB/s.
TEST(LinkRateTest, RanksOfSeveralNodesHaveTheNetwork) {
  const LinkRate rate = LinkRateOf(MakeCluster("dgx-a100:32,200Gb/s"), "m.json");
  EXPECT_EQ(rate.Of(8), 300e9);
  EXPECT_EQ(rate.Of(9), 25e9);
}

// An all-reduce of 1 GB on 2 GPUs in 10 ms: 100 GB/s by the algorithm, as much on the bus, two thirds of 150.
TEST(LinkRateTest, BusBandwidthStandsBesideTheLinks) {
  TraceRun run = RunOn("Tesla V100-SXM2-32GB");
  run.texts = {"ncclDevKernel_AllReduce", "allreduce"};
  for (TraceLaunch& launch : run.launches) launch.end_ns = 10'000'000;
  run.collectives = {{0, 1, 1'000'000'000, 2}, {1, 1, 1'000'000'000, 2}};
  const std::string text = WaitsText(FindWaits(run), 0);
  EXPECT_THAT(text, testing::ContainsRegex("100 GB/s +100 GB/s +150 GB/s +67%"));
  const std::string given = WaitsText(FindWaits(run, {200e9, 0, 0, "--link"}), 0);
  EXPECT_THAT(given, testing::ContainsRegex("100 GB/s +200 GB/s +50%"));
  EXPECT_THAT(given, testing::HasSubstr("Link: 200 GB/s of a GPU each way (--link).\n"));
}

// A collective of unknown size has a row, and nothing is claimed of it.
TEST(LinkRateTest, AnUnknownMessageIsAQuestionMark) {
  TraceRun run = RunOn("Card");
  run.texts = {"ncclDevKernel_AllReduce", "allreduce"};
  run.collectives = {{0, 1, 0, 2}, {1, 1, 0, 2}};
  const Waits waits = FindWaits(run);
  ASSERT_EQ(waits.collectives.size(), 1u);
  EXPECT_EQ(waits.collectives[0].count, 1);
  EXPECT_EQ(waits.collectives[0].bus_bandwidth, 0);
  EXPECT_THAT(WaitsText(waits, 0), testing::ContainsRegex("AllReduce +2 +\\? +1 +10 ns +\\? +\\? +\\? +\\?"));
}

TEST(LinkRateTest, AnUnknownLinkIsAQuestionMark) {
  TraceRun run = RunOn("Card");
  run.texts = {"ncclDevKernel_AllReduce", "allreduce"};
  run.collectives = {{0, 1, 1'000'000'000, 2}, {1, 1, 1'000'000'000, 2}};
  EXPECT_THAT(WaitsText(FindWaits(run), 0), testing::ContainsRegex(" \\? +\\?"));
}

}  // namespace
}  // namespace lanescope::traces
