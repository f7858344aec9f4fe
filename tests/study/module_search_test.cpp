// SPDX-License-Identifier: Apache-2.0
// Maps of a model's whole modules: two blocks of one large product each, side by side or one after the other.
#include "study/compare/module_search.h"

#include <gmock/gmock.h>

#include <optional>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"

namespace lanescope::study {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

constexpr int64_t kBlockSize = 1024;
constexpr std::string_view kTwoBlocks = R"({
  "modules": {"": "Model", "blocks": "ModuleList", "blocks.0": "Block", "blocks.1": "Block"},
  "parameters": {"blocks.0.weight": 4194304, "blocks.1.weight": 4194304},
  "order": ["blocks.0", "blocks.1"]})";

class ModuleSearch : public testing::Test {
 protected:
  // y = (x w0) and (x w1), or (x w0) w1.
  void Make(bool chained) {
    GraphBuilder builder;
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape({kBlockSize, kBlockSize}));
    Endpoint input = x;
    RunSpec spec;
    for (const char* block : {"blocks/0", "blocks/1"}) {
      const std::string name(block);
      const Endpoint weight = builder.Op("VariableV2", name + "/weight")
                                  .Attr("dtype", DataType::kFloat)
                                  .Attr("shape", Shape({kBlockSize, kBlockSize}))
                                  .Build();
      const Endpoint made = builder.Op("MatMul", name + "/MatMul").Input(input).Input(weight).Build();
      if (chained) input = made;
      spec.targets.push_back(name + "/MatMul");
    }
    FeedSpec& feed = spec.feeds["x"];
    feed.shape = Shape({kBlockSize, kBlockSize});
    feed.values = Tensor(DataType::kFloat, feed.shape);
    workload_.emplace("two-blocks", builder.Take(), std::move(spec));
  }
  // Two GPUs of 1 TFLOP/s whose link takes a millisecond.
  static Machine TwoGpus() {
    Machine machine = VirtualMachine(2, 1);
    for (DeviceSpec& device : machine.devices) {
      device.peak_flops[DataType::kFloat] = 1e12;
      device.memory_bandwidth = 1e12;
    }
    for (LinkSpec& link : machine.links) {
      link.bandwidth = 100e9;
      link.latency_ns = 10'000;
    }
    return machine;
  }
  FoundModuleMaps Search(const Machine& machine, std::vector<Placement> also = {}) {
    ModuleSearchRequest request;
    request.also = std::move(also);
    return SearchModuleMaps(*workload_, Predictor(machine), ModuleTree(kTwoBlocks), request);
  }

  std::optional<Workload> workload_;
};

// Law: products side by side take half of the time on two GPUs.
TEST_F(ModuleSearch, BlocksSideBySideGoToTwoGpus) {
  Make(false);
  const FoundModuleMaps maps = Search(TwoGpus());
  EXPECT_THAT(maps.best.parts, ElementsAre(FieldsAre("blocks.0", "GPU:0"), FieldsAre("blocks.1", "GPU:1")));
  ASSERT_TRUE(maps.one_gpu_ns && maps.best_split);
  EXPECT_LT(maps.best.step_ns, *maps.one_gpu_ns);
  EXPECT_EQ(maps.best.step_ns, maps.best_split->step_ns);
}

// Law: a chain gains nothing, so that the map is one GPU, and the best cut is no faster.
TEST_F(ModuleSearch, AChainStaysOnOneGpu) {
  Make(true);
  const FoundModuleMaps maps = Search(TwoGpus());
  EXPECT_THAT(maps.best.parts, ElementsAre(FieldsAre("", "GPU:0")));
  ASSERT_TRUE(maps.one_gpu_ns && maps.best_split);
  EXPECT_EQ(maps.best.step_ns, *maps.one_gpu_ns);
  EXPECT_GE(maps.best_split->step_ns, *maps.one_gpu_ns);
}

// Limit: GPUs that hold one weight of 4 MiB with its operands, not two.
TEST_F(ModuleSearch, MemoryThatOneGpuLacksIsHeeded) {
  Make(true);
  Machine machine = TwoGpus();
  for (DeviceSpec& device : machine.devices) {
    if (device.is_gpu()) device.memory_bytes = 14 << 20;
  }
  const FoundModuleMaps maps = Search(machine);
  EXPECT_FALSE(maps.one_gpu_ns);
  EXPECT_EQ(maps.best.parts.size(), 2u);
  for (DeviceSpec& device : machine.devices) {
    if (device.is_gpu()) device.memory_bytes = 1 << 20;
  }
  try {
    Search(machine);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
  }
}

// A placement of single ops is looked at as the map that it makes.
TEST_F(ModuleSearch, MapsOfPlacementsAreLookedAt) {
  Make(true);
  Placement placement;
  placement.device.assign(workload_->graph().num_nodes(), DeviceId(2));
  EXPECT_LE(Search(TwoGpus(), {placement}).best.step_ns, *Search(TwoGpus()).one_gpu_ns);
}

}  // namespace
}  // namespace lanescope::study
