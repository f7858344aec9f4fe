// SPDX-License-Identifier: Apache-2.0
// Cases G01 to G04 and E97: what TensorFlow's releases say of where ops run.
#include "core/place/placement_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The towers of TensorFlow's documentation: a product on each of two GPUs, and their sum.
Graph Towers() {
  GraphBuilder builder;
  std::vector<Endpoint> products;
  const Tensor value = Tensor::FromValues<float>(Shape{2, 2}, {1, 2, 3, 4});
  for (const char* suffix : {"", "_1"}) {
    const bool first = *suffix == '\0';
    const Endpoint a = builder.Const(first ? "Const" : "Const_2", value);
    const Endpoint b = builder.Const(first ? "Const_1" : "Const_3", value);
    products.push_back(builder.Op("MatMul", std::string("MatMul") + suffix).Input(a).Input(b).Build());
  }
  builder.Op("AddN", "AddN").Inputs(products).Build();
  return builder.Take();
}

TEST(PlacementLog, G01TheFirstReleasesTakeWhatBecameReadyLast) {
  const Graph graph = Towers();
  std::vector<std::string> names;
  for (const NodeId id : FirstReleasesOrder(graph)) names.push_back(graph.node(id).name);
  EXPECT_THAT(names, ElementsAre("Const_3", "Const_2", "MatMul_1", "Const_1", "Const", "MatMul", "AddN"));
}

TEST(PlacementLog, G03EachReleaseHasItsLine) {
  const Machine machine = VirtualMachine(1, 1);
  const DeviceSpec& gpu = machine.device(machine.Gpus()[0]);
  const Graph graph = Towers();
  const Node& product = graph.node(graph.FindNode("MatMul_1"));
  EXPECT_EQ(PlacementLogLine(product, gpu, LogStyle::kV0), "MatMul_1: /job:localhost/replica:0/task:0/gpu:0");
  EXPECT_EQ(PlacementLogLine(product, gpu, LogStyle::kV1),
            "MatMul_1: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(PlacementLogLine(product, gpu, LogStyle::kV2),
            "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(ParseLogStyle("v2"), LogStyle::kV2);
  EXPECT_EQ(ParseLogStyle("v3"), std::nullopt);
}

Node ProductOn(const std::string& device) {
  const Graph graph = Towers();
  Node product = graph.node(graph.FindNode("MatMul"));
  product.device = device;
  return product;
}

TEST(PlaceByItself, E97ADeviceThatIsNotThereIsUnknown) {
  const Machine machine = VirtualMachine(1, 1);
  for (const char* device : {"/device:GPU:2", "/gpu:2", "/job:localhost/device:GPU:2"}) {
    EXPECT_EQ(ErrorOf([&] { PlaceByItself(ProductOn(device), machine, false); }),
              "FailedPrecondition: /job:localhost/replica:0/task:0/device:GPU:2 unknown device.");
  }
  EXPECT_THAT(ErrorOf([&] { PlaceByItself(ProductOn("/job:worker/cpu:0"), machine, false); }),
              HasSubstr("/job:worker/replica:0/task:0/device:CPU:0 unknown device."));
  EXPECT_EQ(machine.device(PlaceByItself(ProductOn("/device:GPU:2"), machine, true)).local_name(), "GPU:0");
}

TEST(PlaceByItself, AnOpGoesWhereItIsAskedToOrToAGpu) {
  const Machine machine = VirtualMachine(2, 1);
  const auto place = [&](const char* device) {
    return machine.device(PlaceByItself(ProductOn(device), machine, false)).local_name();
  };
  EXPECT_EQ(place(""), "GPU:0");
  EXPECT_EQ(place("/GPU:1"), "GPU:1");
  EXPECT_EQ(place("/CPU:0"), "CPU:0");
  EXPECT_THAT(ErrorOf([&] { place("/gpu:"); }), HasSubstr("Malformed device specification '/gpu:'"));
}

}  // namespace
}  // namespace lanescope
