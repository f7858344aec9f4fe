// SPDX-License-Identifier: Apache-2.0
// Variables that sessions share, and that outlive them until their container is emptied.
#include <gtest/gtest.h>

#include "exec/device/device_set.h"
#include "exec/resources/resource_manager.h"
#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

// x = 0 in `container`, and x + 1.
Graph CounterGraph(const std::string& container = "", const Shape& shape = {}) {
  GraphBuilder builder;
  const Endpoint x = builder.Op("VariableV2", "x")
                         .Attr("dtype", DataType::kFloat)
                         .Attr("shape", shape)
                         .Attr("container", container)
                         .Build();
  const Endpoint zero = builder.Const("zero", Floats(shape, 0));
  const Endpoint one = builder.Const("one", Floats(shape, 1));
  builder.Op("Assign", "init").Input(x).Input(zero).Build();
  builder.Op("AssignAdd", "increment").Input(x).Input(one).Build();
  return builder.Take();
}

class SharedVariables : public ::testing::Test {
 protected:
  Pipeline Open(Graph graph) {
    return Pipeline(std::move(graph), 1,
                    {.resources = resources_, .device_set = devices_, .share_variables = true});
  }
  static float Increment(Pipeline* client) { return client->Floats("increment").at(0); }

  const std::shared_ptr<ResourceManager> resources_ = std::make_shared<ResourceManager>();
  const std::shared_ptr<DeviceSet> devices_ =
      std::make_shared<DeviceSet>(Pipeline::HostOf(1), DeviceOptions());
};

// `init` and an increment give 1; a second client, which does not initialise, gives 2.
TEST_F(SharedVariables, J41_TwoClientsShareTheValue) {
  Pipeline first = Open(CounterGraph()), second = Open(CounterGraph());
  first.Do("init");
  EXPECT_EQ(Increment(&first), 1);
  EXPECT_EQ(Increment(&second), 2);
  EXPECT_EQ(first.session.ReadVariable("x").data<float>()[0], 2);
}

TEST_F(SharedVariables, OutliveTheirSession) {
  {
    Pipeline first = Open(CounterGraph());
    first.Do("init");
    EXPECT_EQ(Increment(&first), 1);
  }
  Pipeline second = Open(CounterGraph());
  EXPECT_EQ(Increment(&second), 2);
}

TEST_F(SharedVariables, J43_AResetEmptiesTheContainersItNames) {
  {
    Pipeline kept = Open(CounterGraph("kept")), lost = Open(CounterGraph("lost")),
             plain = Open(CounterGraph());
    for (Pipeline* client : {&kept, &lost, &plain}) {
      client->Do("init");
      EXPECT_EQ(Increment(client), 1);
    }
  }
  Session::Reset(resources_.get(), {"lost"});
  Pipeline kept = Open(CounterGraph("kept")), lost = Open(CounterGraph("lost")), plain = Open(CounterGraph());
  EXPECT_EQ(Increment(&kept), 2);
  EXPECT_EQ(Increment(&plain), 2);
  EXPECT_EQ(Pipeline::Outcome([&] { Increment(&lost); }).substr(0, 18), "FailedPrecondition");
  Session::Reset(resources_.get(), {});
  Pipeline again = Open(CounterGraph());
  EXPECT_EQ(Pipeline::Outcome([&] { Increment(&again); }).substr(0, 18), "FailedPrecondition");
}

// Devices alone are shared: every session has its own x, and gives its memory back.
TEST_F(SharedVariables, SessionsThatShareDevicesAloneKeepTheirVariables) {
  for (int i = 0; i < 2; ++i) {
    Pipeline own(CounterGraph(), 1, {.device_set = devices_});
    EXPECT_EQ(Pipeline::Outcome([&] { Increment(&own); }).substr(0, 18), "FailedPrecondition");
    own.Do("init");
    EXPECT_EQ(Increment(&own), 1);
  }
}

TEST_F(SharedVariables, OneNameHasOneDeclaration) {
  Pipeline first = Open(CounterGraph());
  first.Do("init");
  Pipeline second = Open(CounterGraph("", Shape{2}));
  ExpectError(Code::kInvalidArgument, {"variable 'x' is float[2]", "float[]"}, [&] { second.Do("init"); });
}

TEST_F(SharedVariables, WantWhatIsShared) {
  const Graph graph = CounterGraph();
  const Machine machine = Pipeline::HostOf(1);
  const Placement placement = PlaceAll(graph, machine.host());
  ExpectError(Code::kInvalidArgument, {"resource manager"},
              [&] { Session(graph, placement, machine, {.share_variables = true}); });
  const Machine other = FastMachine(3);
  const Placement elsewhere = PlaceAll(graph, other.host());
  ExpectError(Code::kInvalidArgument, {"another machine"},
              [&] { Session(graph, elsewhere, other, {.device_set = devices_}); });
}

}  // namespace
}  // namespace lanescope::exec::test
