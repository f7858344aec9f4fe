// SPDX-License-Identifier: Apache-2.0
// Sessions that share devices, variables and queues on GPUs: by the CUDA kernels themselves, emulated.
#include <gtest/gtest.h>

#include "exec/device/device_set.h"
#include "exec/resources/queue.h"
#include "exec/resources/resource_manager.h"
#include "tests/exec/pipeline_harness.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {
namespace {

// x, a vector on the GPU; "add" takes a number from a queue on the host and adds it to every element.
Graph SharedGraph() {
  GraphBuilder builder;
  const Endpoint x =
      builder.Op("VariableV2", "x").Attr("dtype", DataType::kFloat).Attr("shape", Shape{1000}).Build();
  const Endpoint zero = builder.Const("zero", Floats(Shape{1000}, 0));
  const Endpoint one = builder.Const("one", Floats(Shape{1000}, 1));
  builder.Op("Assign", "init").Input(x).Input(zero).Build();
  const Endpoint queue = FloatQueueNode(&builder, "FIFOQueueV2", 10, "numbers");
  Enqueue(&builder, "put2", queue, 2);
  Enqueue(&builder, "put40", queue, 40);
  const Endpoint taken = builder.Op("QueueDequeueV2", "take")
                             .Input(queue)
                             .Attr("component_types", Types({DataType::kFloat}))
                             .Build();
  const Endpoint product = builder.Op("Mul", "product").Input(one).Input(taken).Build();
  builder.Op("AssignAdd", "add").Input(x).Input(product).Build();
  return builder.Take();
}

class EmulatedSharing : public ::testing::Test {
 protected:
  EmulatedSharing() {
    placement_ = PlaceAll(graph_, machine_.host());
    for (const char* node : {"x", "init", "zero", "one", "product", "add"})
      PlaceOn(&placement_, graph_, node, Gpu(machine_, 0));
  }
  std::unique_ptr<Session> Open() {
    const SessionOptions options{.resources = resources_, .device_set = devices_, .share_variables = true};
    return std::make_unique<Session>(graph_, placement_, machine_, options);
  }
  static void Do(Session* session, const std::string& target) { session->Run({{}, {}, {target}}); }

  const Graph graph_ = SharedGraph();
  const Machine machine_ = GpuMachine({0});
  Placement placement_;
  const std::shared_ptr<ResourceManager> resources_ = std::make_shared<ResourceManager>();
  const std::shared_ptr<DeviceSet> devices_ = std::make_shared<DeviceSet>(machine_, DeviceOptions());
};

// One session fills the queue, the other takes and adds on the GPU, issued, recorded and replayed; the first
// one reads what came of it, and a third one after both have ended.
TEST_F(EmulatedSharing, QueuesAndVariablesOutliveASession) {
  {
    const auto filler = Open(), adder = Open();
    Do(filler.get(), "init");
    for (int step = 0; step < 4; ++step) {
      Do(filler.get(), step % 2 == 0 ? "put2" : "put40");
      Do(adder.get(), "add");
    }
    EXPECT_TRUE(BitwiseEqual(filler->ReadVariable("x"), Floats(Shape{1000}, 84)));
    EXPECT_EQ(adder->graph_problem(), "");
    Do(filler.get(), "put2");
  }
  const auto later = Open();
  Do(later.get(), "add");
  EXPECT_TRUE(BitwiseEqual(later->ReadVariable("x"), Floats(Shape{1000}, 86)));
}

// A step of the GPU that finds the queue empty waits until the other session has put something.
TEST_F(EmulatedSharing, AStepWaitsForAnotherSession) {
  const auto filler = Open(), adder = Open();
  Do(filler.get(), "init");
  auto added = std::async(std::launch::async, [&] { Do(adder.get(), "add"); });
  const auto queues = [&] { return resources_->All<TensorQueue>(); };
  Until([&] { return !queues().empty() && queues()[0]->state().waiting_dequeues == 1; });
  Do(filler.get(), "put40");
  added.get();
  EXPECT_TRUE(BitwiseEqual(filler->ReadVariable("x"), Floats(Shape{1000}, 40)));
}

}  // namespace
}  // namespace lanescope::exec::test
