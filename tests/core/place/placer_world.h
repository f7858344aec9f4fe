// SPDX-License-Identifier: Apache-2.0
// The little world of TensorFlow's own placer tests: made-up ops with chosen kernels on ten FakeCPU, ten
// FakeGPU and one XLA_CPU.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"

namespace lanescope {

inline constexpr char kTaskA[] = "/job:a/replica:0/task:0";
inline const std::string kCpu0 = std::string(kTaskA) + "/device:FakeCPU:0";
inline const std::string kGpu0 = std::string(kTaskA) + "/device:FakeGPU:0";

class PlacerWorld {
 public:
  PlacerWorld() {
    for (int i = 0; i < 10; ++i) AddDevice(kTaskA, "FakeCPU", i);
    for (int i = 9; i >= 0; --i) AddDevice(kTaskA, "FakeGPU", i);
    AddDevice(kTaskA, "XLA_CPU", 0);
    DefinePlainOps();
    DefineStateOps();
    options.kernels = &kernels_;
    options.registry = &registry_;
  }

  Machine machine;
  PlacerOptions options;
  Graph graph;

  void AddDevice(const std::string& task, const std::string& type, int id) {
    DeviceSpec device;
    device.name = task + "/device:" + type + ":" + std::to_string(id);
    ParseDeviceName(device.name, &device.parsed);
    machine.devices.Add(device);
  }

  // Inputs are "name" or "name:k".
  Node& Add(const std::string& name, const std::string& op, const std::vector<std::string>& inputs = {},
            const std::string& device = "", const std::vector<std::string>& with = {}) {
    Node node;
    node.name = name;
    node.op = op;
    node.device = device;
    for (const std::string& input : inputs) node.inputs.push_back(graph.FindEndpoint(input));
    if (!with.empty()) {
      std::vector<std::string> classes;
      for (const std::string& other : with) classes.push_back("loc:@" + other);
      node.attrs["_class"] = classes;
    }
    return graph.node(graph.AddNode(std::move(node)));
  }

  void Assign(const std::string& name, const std::string& device) {
    options.assigned.resize(graph.num_nodes());
    options.assigned[graph.FindNode(name)] = device;
  }

  void Place() { placement_ = PlaceGraph(graph, machine, options); }
  const DeviceSpec& DeviceOf(const std::string& name) const {
    return machine.device(placement_.device[graph.FindNode(name)]);
  }
  std::string TypeOf(const std::string& name) const { return DeviceOf(name).parsed.type; }
  std::string LocalOf(const std::string& name) const {  // within its task
    const DeviceName& device = DeviceOf(name).parsed;
    return device.type + ":" + std::to_string(device.id);
  }
  bool Together(const std::string& a, const std::string& b) const { return LocalOf(a) == LocalOf(b); }

  void ExpectError(Code code, std::initializer_list<std::string> parts) {
    try {
      Place();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      for (const std::string& part : parts) {
        EXPECT_NE(error.message().find(part), std::string::npos) << part << "\nnot in\n" << error.message();
      }
    }
  }

 private:
  struct Kernel {
    const char* type;
    int priority = 0;
  };

  static ArgDef Arg(const std::string& name, DataType type, bool is_ref = false) {
    ArgDef arg;
    arg.name = name;
    arg.type = type;
    arg.is_ref = is_ref;
    return arg;
  }

  void Define(const std::string& op, std::vector<ArgDef> inputs, std::vector<ArgDef> outputs,
              std::initializer_list<Kernel> kernels, bool metadata = false) {
    OpDef def;
    def.name = op;
    def.inputs = std::move(inputs);
    def.outputs = std::move(outputs);
    def.metadata = metadata;
    registry_.Register(std::move(def));
    kernels_.Declare(op);
    for (const Kernel& kernel : kernels) {
      KernelEntry entry;
      entry.device_type = kernel.type;
      entry.priority = kernel.priority;
      kernels_.Add(op, entry);
    }
  }

  void DefinePlainOps() {
    const ArgDef x = Arg("x", DataType::kFloat), y = Arg("y", DataType::kFloat);
    Define("TestInput", {}, {x, y}, {{"FakeCPU"}});
    Define("TestRelu", {x}, {y}, {{"FakeCPU"}, {"FakeGPU"}});
    Define("ReluCPU", {x}, {y}, {{"FakeCPU"}});
    Define("ReluGPU", {x}, {y}, {{"FakeGPU"}});
    Define("TestAdd", {x, x}, {y}, {{"FakeCPU"}, {"FakeGPU"}});
    Define("TestCPUGPUOutput", {}, {y}, {{"FakeCPU"}, {"FakeGPU"}});
    Define("TestGPUOutput", {}, {y}, {{"FakeGPU"}});
    Define("TestDevice", {}, {x, y}, {{"FakeGPU"}});
    Define("Shape", {x}, {Arg("y", DataType::kInt32)}, {{"FakeCPU"}, {"FakeGPU"}}, true);
    Define("TestDatasetOp", {x}, {y}, {{"FakeCPU", 2}, {"FakeGPU", 1}});
    Define("TestXlaOp", {x}, {y}, {{"XLA_CPU", 2}, {"FakeCPU", 1}});
  }

  // References ("Variable", "Assign") and resources ("HandleVariable", "HandleAssign").
  void DefineStateOps() {
    const ArgDef value = Arg("v", DataType::kFloat), ref = Arg("r", DataType::kFloat, true),
                 handle = Arg("h", DataType::kResource);
    const std::pair<std::string, std::vector<const char*>> kinds[] = {
        {"", {"FakeCPU", "FakeGPU"}}, {"CPU", {"FakeCPU"}}, {"GPU", {"FakeGPU"}}, {"NoKernels", {}}};
    for (const auto& [suffix, types] : kinds) {
      for (const bool resource : {false, true}) {
        const std::string prefix = std::string(resource ? "Handle" : "");
        const ArgDef state = resource ? handle : ref;
        Define(prefix + "Variable" + suffix, {}, {state}, {});
        Define(prefix + "Assign" + suffix, {state, value}, {}, {});
        for (const char* type : types) {
          KernelEntry entry;
          entry.device_type = type;
          kernels_.Add(prefix + "Variable" + suffix, entry);
          kernels_.Add(prefix + "Assign" + suffix, entry);
        }
      }
    }
    Define("TestDeviceEnforce", {ref}, {value}, {{"FakeCPU"}, {"FakeGPU"}});
    Define("TestTwoHandles", {handle, handle}, {}, {{"FakeCPU"}, {"FakeGPU"}});
    Define("HandleIdentity", {handle}, {handle}, {{"FakeCPU"}, {"FakeGPU"}});
    const std::pair<const char*, std::vector<Kernel>> preferences[] = {
        {"SP", {{"FakeCPU", 2}, {"FakeGPU", 1}}},
        {"RP", {{"FakeCPU", 1}, {"FakeGPU", 2}}},
        {"NP", {{"FakeCPU"}, {"FakeGPU"}}},
        {"GPU", {{"FakeGPU"}}}};
    for (const auto& [suffix, kernels] : preferences) {
      const std::string make = std::string("CreateDataset") + suffix,
                        iterate = std::string("Iterate") + suffix;
      Define(make, {}, {handle}, {});
      Define(iterate, {handle}, {value}, {});
      for (const Kernel& kernel : kernels) {
        KernelEntry entry;
        entry.device_type = kernel.type;
        entry.priority = kernel.priority;
        kernels_.Add(make, entry);
        kernels_.Add(iterate, entry);
      }
    }
  }

  KernelTable kernels_;
  OpRegistry registry_;
  Placement placement_;
};

}  // namespace lanescope
