// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/strategy.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/inputs/step_request.h"
#include "core/strategies/towers.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

// A graph with what a strategy is given.
class Setting {
 public:
  explicit Setting(Graph graph, int gpus = 2, const RunSpec& spec = {})
      : graph_(std::move(graph)), machine_(VirtualMachine(gpus, 1)) {
    std::vector<std::pair<Endpoint, TensorInfo>> feeds;
    for (const auto& [name, feed] : spec.feeds) {
      TensorInfo info;
      info.dtype = feed.dtype;
      info.shape = feed.shape;
      feeds.emplace_back(graph_.FindEndpoint(name), info);
    }
    info_ = InferGraph(graph_, feeds);
  }

  static Setting Sample(const std::string& name, int gpus = 2) {
    const std::string path = test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
    return Setting(ReadGraph(path), gpus, ReadRunSpecBeside(path));
  }

  StrategyInput input() const { return {graph_, info_, machine_, costs_, options_}; }
  const Graph& graph() const { return graph_; }
  Machine& machine() { return machine_; }
  void Place(std::string_view strategy) { placement_ = PlaceByStrategy(strategy, input()); }
  void PlaceWishes(const IdVector<NodeId, DeviceId>& wishes) {
    placement_ = PlaceWithWishes(input(), wishes);
  }
  std::string On(const std::string& node) const {
    const NodeId id = graph_.FindNode(node);
    EXPECT_TRUE(id.exists()) << node;
    return !id.exists() ? "" : machine_.device(placement_.device[id]).local_name();
  }
  std::set<std::string> DevicesOf(const std::string& op) const {
    std::set<std::string> devices;
    for (const Node& node : graph_.nodes()) {
      if (node.op == op) devices.insert(On(node.name));
    }
    return devices;
  }

 private:
  Graph graph_;
  Machine machine_;
  GraphInfo info_;
  RooflineCost costs_;
  PlacerOptions options_;
  Placement placement_;
};

NodeId Add(Graph* graph, const std::string& name, const std::string& op, std::vector<Endpoint> inputs) {
  Node node;
  node.name = name;
  node.op = op;
  const bool is_source = op == "Placeholder" || op == "VariableV2";
  node.attrs[is_source ? "dtype" : "T"] = DataType::kFloat;
  if (is_source) node.attrs["shape"] = ShapeAttr{Shape{64, 64}, ""};
  if (op == "AddN") node.attrs["N"] = static_cast<int64_t>(inputs.size());
  if (op == "MatMul") node.attrs["transpose_a"] = node.attrs["transpose_b"] = false;
  node.inputs = std::move(inputs);
  return graph->AddNode(std::move(node));
}

// x shared; tower i: tanh(relu(x * w_i) * v_i); the towers are summed. No device fields.
Graph ManyTowers(int towers) {
  Graph graph;
  const NodeId x = Add(&graph, "x", "Placeholder", {});
  std::vector<Endpoint> ends;
  for (int i = 0; i < towers; ++i) {
    const std::string number = std::to_string(i);
    const NodeId w = Add(&graph, "w" + number, "VariableV2", {});
    const NodeId v = Add(&graph, "v" + number, "VariableV2", {});
    const NodeId first = Add(&graph, "first" + number, "MatMul", {{x, 0}, {w, 0}});
    const NodeId relu = Add(&graph, "relu" + number, "Relu", {{first, 0}});
    const NodeId second = Add(&graph, "second" + number, "MatMul", {{relu, 0}, {v, 0}});
    ends.push_back({Add(&graph, "out" + number, "Tanh", {{second, 0}}), 0});
  }
  Add(&graph, "sum", "AddN", ends);
  return graph;
}

TEST(StrategyTest, NamesAreSortedAndUnknownOnesListed) {
  for (size_t i = 1; i < Strategies().size(); ++i) EXPECT_LT(Strategies()[i - 1].name, Strategies()[i].name);
  Setting setting(ManyTowers(1));
  try {
    setting.Place("best");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    for (const Strategy& strategy : Strategies()) {
      EXPECT_NE(error.message().find(strategy.name), std::string::npos) << strategy.name;
    }
  }
}

TEST(StrategyTest, FileOnTopOfAnnotated) {
  const std::string path = testing::TempDir() + "strategy_test_placement.json";
  std::ofstream(path) << R"({"nodes": {"relu0": {"device": "GPU:1"}}})";
  Setting setting(ManyTowers(1));
  setting.Place("@" + path);
  EXPECT_EQ(setting.On("relu0"), "GPU:1");
  EXPECT_EQ(setting.On("first0"), "GPU:0");
  EXPECT_THROW(setting.Place("@" + path + ".missing"), Error);
}

TEST(StrategyTest, WishesMoveWholeGroups) {
  Graph graph = ManyTowers(1);
  graph.node(graph.FindNode("relu0")).attrs["_class"] = std::vector<std::string>{"loc:@first0"};
  Setting setting(std::move(graph));
  IdVector<NodeId, DeviceId> wishes(setting.graph().num_nodes());
  wishes[setting.graph().FindNode("first0")] = DeviceId(2);
  wishes[setting.graph().FindNode("relu0")] = DeviceId(1);
  setting.PlaceWishes(wishes);
  EXPECT_EQ(setting.On("first0"), "GPU:1") << "the first member decides";
  EXPECT_EQ(setting.On("relu0"), "GPU:1");
  EXPECT_EQ(setting.On("out0"), "GPU:0") << "no wish: the placer's default";
}

TEST(StrategyTest, SingleIgnoresDeviceFields) {
  for (const char* name : {"deepconn_dual", "cifar10_towers", "polynomial_parallel", "two_towers_matmul"}) {
    Setting setting = Setting::Sample(name);
    setting.Place("single");
    EXPECT_EQ(setting.DevicesOf("MatMul").count("GPU:1"), 0u) << name;
    EXPECT_EQ(setting.DevicesOf("VariableV2").count("GPU:1"), 0u) << name;
  }
  Setting deepconn = Setting::Sample("deepconn_dual");
  deepconn.Place("single");
  EXPECT_EQ(deepconn.DevicesOf("LookupTableFindV2"), std::set<std::string>{"CPU:0"});
  EXPECT_EQ(deepconn.DevicesOf("Conv2D"), std::set<std::string>{"GPU:0"});
}

TEST(StrategyTest, WithoutGpusEverythingIsOnTheHost) {
  for (const Strategy& strategy : Strategies()) {
    Setting setting(ManyTowers(2), 0);
    setting.Place(strategy.name);
    EXPECT_EQ(setting.DevicesOf("MatMul"), std::set<std::string>{"CPU:0"}) << strategy.name;
  }
}

TEST(StrategyTest, AllPlaceTheSamplesWhereTheyCompile) {
  for (const char* name : {"deepconn_single", "cifar10_towers", "polynomial_parallel", "two_towers_matmul"}) {
    const std::string path = test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
    const Setting setting = Setting::Sample(name);
    const CompileRequest step = StepRequestOf(setting.graph(), ReadRunSpecBeside(path));
    StrategyInput input = setting.input();
    input.step = &step;
    for (const Strategy& strategy : Strategies()) {
      const Placement placement = strategy.place(input);
      const Schedule schedule = Compile(input.graph, input.info, step, placement, input.machine);
      EXPECT_NO_THROW(VerifySchedule(input.graph, schedule)) << name << " " << strategy.name;
      EXPECT_EQ(strategy.place(input).device, placement.device) << name << " " << strategy.name;
      EXPECT_EQ(strategy.place(input).priority, placement.priority) << name << " " << strategy.name;
    }
  }
}

// A variable and its update are in host memory, or on the GPUs in turn; bytes: the second and the third
// variable, small ones, share the GPU that the first, a large one, is not on.
TEST(StrategyTest, ParameterServersHoldVariables) {
  GraphBuilder builder;
  for (const auto& [name, size] :
       {std::pair<const char*, int>{"large", 100}, {"small", 10}, {"smaller", 5}}) {
    const Endpoint v =
        builder.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", Shape{size}).Build();
    const Endpoint read = builder.Op("Neg", std::string(name) + "/use").Input(v).Build();
    builder.Op("AssignAdd", std::string(name) + "/add").Input(v).Input(read).Build();
  }
  Setting setting(builder.Take());
  setting.Place("parameter-server");
  EXPECT_EQ(setting.DevicesOf("VariableV2"), std::set<std::string>{"CPU:0"});
  EXPECT_EQ(setting.DevicesOf("AssignAdd"), std::set<std::string>{"CPU:0"});
  EXPECT_EQ(setting.DevicesOf("Neg"), std::set<std::string>{"GPU:0"});
  setting.Place("parameter-server-turn");
  EXPECT_NE(setting.On("large"), setting.On("small"));
  EXPECT_EQ(setting.On("large"), setting.On("smaller"));
  setting.Place("parameter-server-bytes");
  EXPECT_NE(setting.On("large"), setting.On("small"));
  EXPECT_EQ(setting.On("small"), setting.On("smaller"));
}

// Towers of equal work and no bytes to speak of: whoever looks at times uses both GPUs.
TEST(StrategyTest, SchedulersSpreadTowers) {
  for (const char* strategy : {"greedy", "heft", "m-etf", "m-sct"}) {
    Setting setting(ManyTowers(4));
    for (DeviceSpec& device : setting.machine().devices)
      device.peak_flops = {{DataType::kFloat, device.is_gpu() ? 1e6 : 1e3}};
    setting.Place(strategy);
    EXPECT_EQ(setting.DevicesOf("MatMul"), (std::set<std::string>{"GPU:0", "GPU:1"})) << strategy;
    std::map<std::string, int> products;
    for (int i = 0; i < 4; ++i) {
      ++products[setting.On("first" + std::to_string(i))];
      ++products[setting.On("second" + std::to_string(i))];
    }
    EXPECT_EQ(products["GPU:0"], 4) << strategy;
  }
}

// Law: a device whose rates nobody gives is never preferred. Two towers that all three devices could share,
// if the host were as fast: it stays idle, whether the GPUs have rates or nothing has.
TEST(StrategyTest, SchedulersLeaveAHostWithoutRatesAlone) {
  for (const char* strategy : {"greedy", "heft", "m-etf", "m-sct"}) {
    for (const bool rated : {true, false}) {
      Setting setting(ManyTowers(6));
      for (DeviceSpec& device : setting.machine().devices) {
        if (!rated || !device.is_gpu()) continue;
        device.peak_flops = {{DataType::kFloat, 1e9}};
        device.memory_bandwidth = 1e9;
      }
      setting.Place(strategy);
      EXPECT_EQ(setting.DevicesOf("MatMul"), (std::set<std::string>{"GPU:0", "GPU:1"})) << strategy << rated;
      EXPECT_FALSE(setting.DevicesOf("Relu").contains("CPU:0")) << strategy << rated;
    }
  }
}

// A host with rates takes its part.
TEST(StrategyTest, SchedulersUseAHostWithRates) {
  for (const char* strategy : {"greedy", "heft"}) {
    Setting setting(ManyTowers(6));
    for (DeviceSpec& device : setting.machine().devices) {
      device.peak_flops = {{DataType::kFloat, 1e6}};
      device.memory_bandwidth = 1e9;
    }
    setting.Place(strategy);
    EXPECT_TRUE(setting.DevicesOf("MatMul").contains("CPU:0")) << strategy;
  }
}

TEST(StrategyTest, SchedulersKeepAChainTogetherWhereCopiesAreDear) {
  for (const char* strategy : {"greedy", "heft", "m-etf", "m-sct"}) {
    Setting setting(ManyTowers(1));
    for (LinkSpec& link : setting.machine().links) link.latency_ns = 1'000'000'000;
    setting.Place(strategy);
    EXPECT_EQ(setting.DevicesOf("MatMul").size(), 1u) << strategy;
    EXPECT_EQ(setting.On("second0"), setting.On("relu0")) << strategy;
  }
}

// Each product has 16 KiB of weights, and a GPU holds the weights and tensors of about half of them.
TEST(StrategyTest, MemoryAwareSchedulersStayWithinTheLimit) {
  for (const char* strategy : {"m-etf", "m-sct"}) {
    Setting setting(ManyTowers(4));
    for (DeviceSpec& device : setting.machine().devices) device.peak_flops = {{DataType::kFloat, 1e12}};
    for (LinkSpec& link : setting.machine().links) link.latency_ns = 1'000'000'000;
    setting.machine().devices[setting.machine().FindDevice("/gpu:0")].memory_bytes = 150'000;
    setting.Place(strategy);
    int64_t on_first = 0;
    for (int i = 0; i < 4; ++i) {
      for (const char* variable : {"w", "v"}) on_first += setting.On(variable + std::to_string(i)) == "GPU:0";
    }
    EXPECT_LE(on_first * 16384, 150'000) << strategy;
    EXPECT_LT(on_first, 8) << strategy;
  }
}

TEST(RoundRobinTest, OpsGoWhereTheirVariablesAre) {
  Setting setting(ManyTowers(2), 3);
  setting.Place("round-robin");
  const char* const kExpected[] = {"GPU:0", "GPU:1", "GPU:2", "GPU:0"};
  const char* const kProducts[] = {"first0", "second0", "first1", "second1"};
  const char* const kWeights[] = {"w0", "v0", "w1", "v1"};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(setting.On(kWeights[i]), kExpected[i]);
    EXPECT_EQ(setting.On(kProducts[i]), kExpected[i]);
  }
  EXPECT_EQ(setting.On("relu0"), "GPU:0") << "with its input";
}

// a -> b -> c of 1 us each; d, of 10 us, is ready from the beginning; one device. By rank d (10) comes before
// b (2).
TEST(HeftTest, PrioritiesFollowTheSchedule) {
  Graph graph;
  const auto add = [&](const std::string& name, std::vector<Endpoint> inputs, int64_t ns) {
    const NodeId id = Add(&graph, name, inputs.size() == 2 ? "AddN" : "Relu", std::move(inputs));
    graph.node(id).attrs["_lanescope_cost"] =
        fmt::format(R"({{"ns": {{"CPU": {}, "GPU": {}}}}})", ns * 1000, ns * 1000);
    return id;
  };
  const NodeId x = Add(&graph, "x", "Placeholder", {});
  const NodeId a = add("a", {{x, 0}}, 1);
  const NodeId b = add("b", {{a, 0}}, 1);
  const NodeId c = add("c", {{b, 0}}, 1);
  const NodeId d = add("d", {{x, 0}}, 10);
  Setting setting(std::move(graph), 0);
  const Placement placement = PlaceByStrategy("heft", setting.input());
  const auto priority = [&](NodeId id) { return placement.priority[id]; };
  EXPECT_GT(priority(d), priority(b));
  EXPECT_GT(priority(a), priority(b));
  EXPECT_GT(priority(b), priority(c));
}

TEST(AlternatingTest, WorkTakesTurnsAndVariablesFollowTheirReaders) {
  Setting setting(ManyTowers(1));
  setting.Place("alternating");
  EXPECT_EQ(setting.On("first0"), "GPU:0");
  EXPECT_EQ(setting.On("relu0"), "GPU:1");
  EXPECT_EQ(setting.On("second0"), "GPU:0");
  EXPECT_EQ(setting.On("out0"), "GPU:1");
  EXPECT_EQ(setting.On("w0"), "GPU:0");
  EXPECT_EQ(setting.On("v0"), "GPU:0");
}

TEST(TowersTest, FindsTowersByStructure) {
  const Setting setting(ManyTowers(3));
  const StrategyInput input = setting.input();
  const Towers towers =
      FindTowers(input.graph, input.info, IdVector<NodeId, double>(input.graph.num_nodes(), 1));
  ASSERT_EQ(towers.count, 3);
  EXPECT_EQ(input.graph.node(towers.join).name, "sum");
  EXPECT_EQ(towers.label[input.graph.FindNode("relu2")], 2);
  EXPECT_EQ(towers.label[input.graph.FindNode("v1")], 1);
  EXPECT_EQ(towers.label[input.graph.FindNode("x")], Towers::kShared);
  EXPECT_EQ(towers.label[input.graph.FindNode("sum")], Towers::kUnknown);
}

TEST(TowersTest, DifferentBranchesAreNoTowers) {
  Graph graph;
  const NodeId x = Add(&graph, "x", "Placeholder", {});
  const NodeId a = Add(&graph, "a", "Tanh", {{Add(&graph, "a1", "Relu", {{x, 0}}), 0}});
  const NodeId b = Add(&graph, "b", "Relu", {{Add(&graph, "b1", "Tanh", {{x, 0}}), 0}});
  Add(&graph, "sum", "AddN", {{a, 0}, {b, 0}});
  const Setting setting(std::move(graph));
  const StrategyInput input = setting.input();
  EXPECT_EQ(FindTowers(input.graph, input.info, IdVector<NodeId, double>(6, 1)).count, 0);
}

TEST(TowerSplitTest, ManyTowersTakeTheGpusInTurn) {
  Setting setting(ManyTowers(5), 3);
  setting.Place("tower-split");
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i), gpu = "GPU:" + std::to_string(i % 3);
    for (const char* node : {"w", "v", "first", "relu", "second", "out"}) {
      EXPECT_EQ(setting.On(node + number), gpu) << node << i;
    }
  }
  EXPECT_EQ(setting.On("sum"), "GPU:0");
}

TEST(TowerSplitTest, DeepConnWithoutAnnotations) {
  Setting setting = Setting::Sample("deepconn_single");
  setting.Place("tower-split");
  for (const char* node : {"user_conv/kernel", "user_conv/conv1d/Conv2D", "dense/MatMul", "dense/Relu",
                           "user_conv/kernel/Adam", "train/update_dense/kernel/ApplyAdam", "word_embeddings",
                           "embedding_lookup", "embedding_lookup_1", "Mul", "predictions"}) {
    EXPECT_EQ(setting.On(node), "GPU:0") << node;
  }
  for (const char* node : {"item_conv/kernel", "item_conv/conv1d/Conv2D", "dense_1/MatMul", "dense_1/Relu",
                           "item_conv/kernel/Adam", "train/update_dense_1/kernel/ApplyAdam",
                           "gradients/dense_1/MatMul_grad/MatMul", "gradients/item_conv/Tanh_grad/TanhGrad",
                           "gradients/item_conv/conv1d/Conv2D_grad/Conv2DBackpropInput"}) {
    EXPECT_EQ(setting.On(node), "GPU:1") << node;
  }
}

TEST(TowerSplitTest, OtherSamplesAreSplitToo) {
  for (const char* name : {"polynomial_parallel", "cifar10_towers", "two_towers_matmul"}) {
    Setting setting = Setting::Sample(name);
    setting.Place("tower-split");
    EXPECT_EQ(setting.DevicesOf("MatMul"), (std::set<std::string>{"GPU:0", "GPU:1"})) << name;
  }
  Setting cifar = Setting::Sample("cifar10_towers");
  cifar.Place("tower-split");
  EXPECT_EQ(cifar.DevicesOf("Conv2DBackpropFilter"), (std::set<std::string>{"GPU:0", "GPU:1"}));
  EXPECT_EQ(cifar.DevicesOf("VariableV2").count("GPU:1"), 0u) << "shared variables stay together";
}

TEST(TowerSplitTest, NoTowersMeansSingle) {
  for (const char* name : {"polynomial", "cifar10_single"}) {
    Setting setting = Setting::Sample(name);
    setting.Place("tower-split");
    EXPECT_EQ(setting.DevicesOf("MatMul"), std::set<std::string>{"GPU:0"}) << name;
  }
}

}  // namespace
}  // namespace lanescope
