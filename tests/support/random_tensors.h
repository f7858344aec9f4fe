// SPDX-License-Identifier: Apache-2.0
// Random graphs of everything that makes a memory plan hard: tensors without elements, splits with outputs
// that nobody reads, aliases and chains of them, sizes known only by a bound, ops that may write in place,
// variables of both kinds, barriers, feeds.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/place/placement.h"
#include "core/schedule/schedule.h"
#include "tests/support/random_graph.h"

namespace lanescope::test {

class RandomTensors {
 public:
  RandomTensors(unsigned seed, int ops) : rng_(seed) {
    axis_ = builder_.Const("axis", Tensor::Scalar<int32_t>(0));
    Keep(Feed("x", 16), 16);
    Keep(Feed("z", 0), 0);
    for (int v = 0; v < 2; ++v) AddVariable(v);
    for (int i = 0; i < ops; ++i) AddOp("op" + std::to_string(i));
    for (int i = 0; i < 3; ++i) fetches_.push_back(builder_.graph().TensorName(Any().endpoint));
    graph_ = builder_.Take();
  }

  const Graph& graph() const { return graph_; }
  const std::vector<std::string>& init() const { return init_; }
  const std::vector<std::string>& fetches() const { return fetches_; }
  const std::vector<std::string>& targets() const { return targets_; }
  CompileRequest Request() const {
    CompileRequest request = RequestFor(graph_, fetches_, targets_);
    for (const char* name : {"x", "z"}) {
      TensorInfo info;
      info.dtype = DataType::kFloat;
      info.shape = graph_.node(graph_.FindNode(name)).GetShapeAttr("shape");
      request.feeds.emplace_back(graph_.FindEndpoint(name), info);
    }
    return request;
  }
  // State and what touches it share a device; all else goes anywhere.
  Placement Place(const Machine& machine, unsigned seed) const {
    std::mt19937 rng(seed);
    Placement placement;
    for (const NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      DeviceId device = DeviceId(rng() % static_cast<unsigned>(machine.num_devices()));
      if (!node.inputs.empty()) {
        const std::string& source = graph_.node(node.inputs[0].node).op;
        if (source == "VariableV2" || source == "VarHandleOp") device = placement.device[node.inputs[0].node];
      }
      placement.device.Add(device);
    }
    return placement;
  }

 private:
  struct Known {
    Endpoint endpoint;
    int size = 0;  // -1: known by a bound only
  };

  int Random(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  void Keep(Endpoint endpoint, int size) { values_.push_back({endpoint, size}); }
  Endpoint Feed(const std::string& name, int size) {
    return builder_.Placeholder(name, DataType::kFloat, Shape{size});
  }
  const Known& Any() {
    const int count = static_cast<int>(values_.size());
    const int back = Random(3) == 0 ? Random(count) : Random(std::min(count, 8));
    return values_[static_cast<size_t>(count - 1 - back)];
  }
  // One of exact size; x is one.
  Known AnyExact() {
    for (int tries = 0; tries < 20; ++tries) {
      const Known known = Any();
      if (known.size >= 0) return known;
    }
    return values_[0];
  }
  Endpoint Ints(const std::string& name, const std::vector<int32_t>& values) {
    return builder_.Const(name, Tensor::FromValues<int32_t>(Shape{static_cast<int>(values.size())}, values));
  }

  void AddVariable(int number) {
    const std::string name = "var" + std::to_string(number);
    const int size = number == 0 ? 16 : Random(2) * 4;
    const bool handle = Random(2) == 0;
    const Endpoint ref = builder_.Op(handle ? "VarHandleOp" : "VariableV2", name)
                             .Attr("dtype", DataType::kFloat)
                             .Attr("shape", Shape{size})
                             .Build();
    const Endpoint zero =
        builder_.Const(name + "/zero",
                       Tensor::FromValues<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size))));
    builder_.Op(handle ? "AssignVariableOp" : "Assign", name + "/init").Input(ref).Input(zero).Build();
    init_.push_back(name + "/init");
    variables_.push_back({ref, size});
    handles_.push_back(handle);
    Read(number, name + "/read");
  }
  void Read(int number, const std::string& name) {
    const Known variable = variables_[static_cast<size_t>(number)];
    auto node = builder_.Op(handles_[static_cast<size_t>(number)] ? "ReadVariableOp" : "Identity", name);
    node.Input(variable.endpoint);
    if (handles_[static_cast<size_t>(number)]) node.Attr("dtype", DataType::kFloat);
    Keep(node.Build(), variable.size);
  }
  void Update(const std::string& name) {
    const int number = Random(2);
    const Known variable = variables_[static_cast<size_t>(number)];
    const bool handle = handles_[static_cast<size_t>(number)];
    const auto fits = [&](const Known& known) { return known.size == variable.size; };
    const auto source = std::find_if(values_.rbegin(), values_.rend(), fits);
    auto node = builder_.Op(handle ? "AssignAddVariableOp" : "AssignAdd", name);
    const Endpoint updated = node.Input(variable.endpoint).Input(source->endpoint).Build();
    targets_.push_back(name);
    if (handle) return Read(number, name + "/read");
    if (Random(2) == 0) Keep(builder_.Op("Neg", name + "/after").Input(updated).Build(), variable.size);
  }

  void AddSplit(const std::string& name) {
    const Known known = AnyExact();
    int left = known.size;
    std::vector<int32_t> sizes;
    for (int k = 0; k < 2; ++k) {
      sizes.push_back(Random(2) == 0 ? 0 : Random(left + 1));
      left -= sizes.back();
    }
    sizes.push_back(left);
    std::shuffle(sizes.begin(), sizes.end(), rng_);
    const Endpoint split = builder_.Op("SplitV", name)
                               .Input(known.endpoint)
                               .Input(Ints(name + "/sizes", sizes))
                               .Input(axis_)
                               .Attr("num_split", 3)
                               .Build();
    for (int k = 0; k < 3; ++k) {
      if (Random(4) > 0) Keep({split.node, k}, sizes[static_cast<size_t>(k)]);
    }
  }

  void AddAlias(const std::string& name) {
    const Known known = Any();
    if (known.size >= 0 && Random(2) == 0) {
      const Endpoint matrix = builder_.Op("Reshape", name)
                                  .Input(known.endpoint)
                                  .Input(Ints(name + "/shape", {1, known.size, 1}))
                                  .Build();
      return Keep(builder_.Op("Squeeze", name + "/flat")
                      .Input(matrix)
                      .Attr("squeeze_dims", std::vector<int64_t>{0, 2})
                      .Build(),
                  known.size);
    }
    Keep(builder_.Op(Random(2) == 0 ? "Identity" : "StopGradient", name).Input(known.endpoint).Build(),
         known.size);
  }

  void AddOp(const std::string& name) {
    switch (Random(9)) {
      case 0:
        return AddSplit(name);
      case 1: {
        const Known a = Any(), b = Any();
        const int size = a.size < 0 || b.size < 0 ? -1 : a.size + b.size;
        if (size > 64) return AddAlias(name);
        return Keep(builder_.Op("ConcatV2", name).Input(a.endpoint).Input(b.endpoint).Input(axis_).Build(),
                    size);
      }
      case 2:
        return AddAlias(name);
      case 3: {
        const Known known = Any();  // an output of unknown size, and one that mostly nobody reads
        const Endpoint unique =
            builder_.Op("Unique", name).Input(known.endpoint).Attr("out_idx", DataType::kInt32).Build();
        return Keep(unique, -1);
      }
      case 4:
        return Update(name);
      case 5: {
        const Known known = AnyExact();
        const int begin = Random(known.size + 1), size = Random(known.size - begin + 1);
        return Keep(builder_.Op("Slice", name)
                        .Input(known.endpoint)
                        .Input(Ints(name + "/begin", {begin}))
                        .Input(Ints(name + "/size", {size}))
                        .Build(),
                    size);
      }
      default: {
        const Known known = Any();
        const bool product = Random(2) == 0;
        auto node = builder_.Op(product ? "Mul" : "Neg", name).Input(known.endpoint);
        if (product) node.Input(known.endpoint);
        if (Random(4) == 0) node.ControlInput(Any().endpoint);
        return Keep(node.Build(), known.size);
      }
    }
  }

  std::mt19937 rng_;
  GraphBuilder builder_;
  Graph graph_;
  Endpoint axis_;
  std::vector<Known> values_;
  std::vector<Known> variables_;
  std::vector<bool> handles_;
  std::vector<std::string> init_, fetches_, targets_;
};

}  // namespace lanescope::test
