// SPDX-License-Identifier: Apache-2.0
// Random graphs of empty tensors, aliases, bounded sizes and variables run to the same bits wherever they are
// placed; sizes that depend on fed values.
#include "tests/support/random_tensors.h"

#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::RandomTensors;

std::vector<Tensor> RunThreeSteps(const RandomTensors& tensors, const Placement& placement,
                                  const Machine& machine) {
  Session session(tensors.graph(), placement, machine);
  session.Run({{}, {}, tensors.init()});
  std::vector<Tensor> results;
  for (int step = 0; step < 3; ++step) {
    Tensor x(DataType::kFloat, Shape{16});  // a new one: what is fetched may share its memory
    for (int i = 0; i < 16; ++i) x.data<float>()[i] = static_cast<float>((i * 7 + step) % 5) / 4 - 0.5f;
    const std::map<std::string, Tensor> feeds = {{"x", x}, {"z", Tensor(DataType::kFloat, Shape{0})}};
    for (Tensor& fetch : session.Run({feeds, tensors.fetches(), tensors.targets()}).fetches)
      results.push_back(std::move(fetch));
  }
  return results;
}

// Law: where an op runs changes no bit of any result.
TEST(SessionOfRandomTensors, ResultsDoNotDependOnThePlacement) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RandomTensors tensors(seed, 30);
    const Machine machine = FastMachine(2, 1 + static_cast<int>(seed % 3));
    const auto expected = RunThreeSteps(tensors, PlaceAll(tensors.graph(), machine.host()), machine);
    const auto spread = RunThreeSteps(tensors, tensors.Place(machine, seed), machine);
    ASSERT_EQ(expected.size(), spread.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(BitwiseEqual(expected[i], spread[i])) << "seed " << seed << ", fetch " << i;
  }
}

Tensor Int32s(const std::vector<int32_t>& values) {
  return Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

// Fed segment numbers: as many rows as they say, up to as many as there are numbers.
TEST(SessionOfBoundedSizes, FedSegmentNumbers) {
  GraphBuilder builder;
  const Endpoint data = builder.Const("data", Tensor::FromValues<float>(Shape{3, 2}, {1, 2, 3, 4, 5, 6}));
  const Endpoint ids = builder.Placeholder("ids", DataType::kInt32, Shape{3});
  builder.Op("SegmentSum", "sum").Input(data).Input(ids).Build();
  const Machine machine = FastMachine(1);
  const Placement placement = PlaceAll(builder.graph(), machine.host());
  Session session(builder.graph(), placement, machine);
  const auto run = [&](const std::vector<int32_t>& values) {
    return session.Run({{{"ids", Int32s(values)}}, {"sum"}, {}}).fetches[0];
  };
  EXPECT_TRUE(BitwiseEqual(run({0, 0, 1}), Tensor::FromValues<float>(Shape{2, 2}, {4, 6, 5, 6})));
  EXPECT_TRUE(BitwiseEqual(run({0, 2, 2}), Tensor::FromValues<float>(Shape{3, 2}, {1, 2, 0, 0, 8, 10})));
  ExpectError(Code::kResourceExhausted, {"its size depends on values", "sum"}, [&] { run({0, 1, 90}); });
  EXPECT_TRUE(BitwiseEqual(run({0, 0, 0}), Tensor::FromValues<float>(Shape{1, 2}, {9, 12})));
}

// An embedding in two parts, looked up by numbers whose parity says which part: DynamicPartition sends every
// number to its part, DynamicStitch brings the rows back into their order.
TEST(SessionOfBoundedSizes, APartitionedEmbedding) {
  GraphBuilder builder;
  const Endpoint ids = builder.Placeholder("ids", DataType::kInt32, Shape{5});
  const Endpoint two = builder.Const("two", Tensor::Scalar<int32_t>(2));
  const Endpoint axis = builder.Const("axis", Tensor::Scalar<int32_t>(0));
  const Endpoint part = builder.Op("FloorMod", "part").Input(ids).Input(two).Build();
  const Endpoint row = builder.Op("FloorDiv", "row").Input(ids).Input(two).Build();
  const Endpoint places = builder.Const("places", Int32s({0, 1, 2, 3, 4}));
  const Endpoint rows =
      builder.Op("DynamicPartition", "rows").Input(row).Input(part).Attr("num_partitions", 2).Build();
  const Endpoint back =
      builder.Op("DynamicPartition", "back").Input(places).Input(part).Attr("num_partitions", 2).Build();
  NodeBuilder stitch = builder.Op("ParallelDynamicStitch", "found").Attr("N", 2);
  std::vector<Endpoint> gathered;
  for (int p = 0; p < 2; ++p) {
    const std::string name = "table" + std::to_string(p);
    const Endpoint table = builder.Const(
        name,
        Tensor::FromValues<float>(Shape{3, 1}, {10.0f + static_cast<float>(p), 20.0f + static_cast<float>(p),
                                                30.0f + static_cast<float>(p)}));
    gathered.push_back(
        builder.Op("GatherV2", name + "/rows").Input(table).Input({rows.node, p}).Input(axis).Build());
  }
  stitch.Input({back.node, 0}).Input({back.node, 1}).Inputs(gathered).Build();
  builder.Op("Reshape", "flat")
      .Input(builder.graph().FindEndpoint("found"))
      .Input(builder.Const("shape", Int32s({5})))
      .Build();
  const Machine machine = FastMachine(2);
  const Graph& graph = builder.graph();
  Placement placement = PlaceAll(graph, machine.host());
  PlaceOn(&placement, graph, "table1/rows", Gpu(machine, 1));
  Session session(graph, placement, machine);
  const PreparedStep& step = session.Prepare({{{"ids", Int32s({0, 1, 2, 3, 4})}}, {"flat"}, {}});
  EXPECT_EQ(step.info->of(graph.FindEndpoint("found")).shape.ToString(), "[<=5,1]");
  const auto run = [&](const std::vector<int32_t>& values) {
    return session.Run({{{"ids", Int32s(values)}}, {"flat"}, {}}).fetches[0];
  };
  EXPECT_TRUE(BitwiseEqual(run({0, 1, 2, 3, 4}), Tensor::FromValues<float>(Shape{5}, {10, 11, 20, 21, 30})));
  EXPECT_TRUE(BitwiseEqual(run({4, 4, 4, 4, 2}), Tensor::FromValues<float>(Shape{5}, {30, 30, 30, 30, 20})));
  EXPECT_TRUE(BitwiseEqual(run({5, 3, 1, 1, 1}), Tensor::FromValues<float>(Shape{5}, {31, 21, 11, 11, 11})));
}

}  // namespace
}  // namespace lanescope::exec::test
