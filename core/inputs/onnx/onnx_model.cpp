// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx_model.h"

#include <fmt/core.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/validate.h"
#include "core/inputs/default_feed.h"
#include "core/inputs/onnx/control_flow.h"
#include "core/inputs/onnx/node_reader.h"
#include "core/inputs/onnx/onnx_tensor.h"
#include "core/inputs/onnx/small_elements.h"

namespace lanescope {
namespace {

// The prefix of ops that a graph has by their cost alone.
constexpr std::string_view kCostOnlyPrefix = "Onnx";

class OnnxReader {
 public:
  OnnxReader(const onnx::ModelProto& model, const std::string& folder,
             const std::map<std::string, Shape>& shapes)
      : graph_(model.graph()), shapes_(shapes), nodes_(model, folder, sizes_, &to_) {}

  OnnxModel Read() {
    std::vector<Input> inputs;
    // Some models list their weights among the inputs.
    for (const onnx::ValueInfo& input : graph_.input()) {
      if (nodes_.IsWeight(input.name())) continue;
      const std::string node = to_.FreeName(input.name());
      inputs.push_back({input, node, GivenShape(input.name(), node)});
    }
    for (const Input& input : inputs)
      if (input.given != nullptr) sizes_.Learn(input.type(), *input.given);
    for (const Input& input : inputs) sizes_.Assume(input.type());
    for (const Input& input : inputs) AddInput(input);
    std::unordered_map<std::string, std::string> reserved;
    for (const onnx::ValueInfo& output : graph_.output())
      reserved.emplace(output.name(), to_.FreeName(output.name()));
    nodes_.ReadNodes();
    for (const onnx::ValueInfo& output : graph_.output()) AddOutput(output.name(), reserved[output.name()]);
    model_.graph = Needed(to_.builder()->Take());
    NoteProblems(&model_.graph);
    return std::move(model_);
  }

 private:
  struct Input {
    const onnx::ValueInfo& info;
    std::string node;
    const Shape* given;  // null: nobody says
    const onnx::TensorType& type() const { return info.type().tensor_type(); }
  };

  // By the model's name, or the graph's.
  const Shape* GivenShape(const std::string& name, const std::string& node) const {
    for (const std::string& known : {name, node, node + ":0"})
      if (const auto given = shapes_.find(known); given != shapes_.end()) return &given->second;
    return nullptr;
  }

  void AddTitle(const std::string& node, const std::string& name) {
    if (node == name) return;
    model_.spec.aliases[name] = node;
    model_.spec.titles[node] = name;
  }

  void AddInput(const Input& input) {
    const std::string& name = input.info.name();
    try {
      if (!input.info.type().has_tensor_type())
        Throw(Code::kUnimplemented, "is no tensor; make the model take the tensors of a sequence one by one");
      const DataType dtype = OnnxDataType(input.type().elem_type());
      const Shape open = OnnxDimensions().ShapeOf(input.type());
      Shape shape = input.given != nullptr ? MergeShapes(open, *input.given) : sizes_.ShapeOf(input.type());
      if (!shape.known_rank()) Throw(Code::kUnimplemented, "has no shape");
      for (int i = 0; i < shape.rank(); ++i)
        if (!IsExact(shape.dim(i))) shape.set_dim(i, 1);
      if (input.given == nullptr && !open.IsExact())
        model_.notes.push_back(
            fmt::format("'{}' of shape {} is taken as {}", name, open.ToString(), shape.ToString()));
      model_.spec.feeds[input.node] = DefaultFeed(name, dtype, shape);
      AddTitle(input.node, name);
      OnnxValue value = to_.Feed(input.node, dtype, shape);
      value.set_format(OnnxFormat(input.type().elem_type()));
      nodes_.Define(name, value);
      inputs_.push_back(input.node);
    } catch (const Error& error) {
      Throw(error.code(), "the input '{}' {}", name, error.message());
    }
  }

  // A node of its own under the output's name, whatever made it, a constant too.
  void AddOutput(const std::string& name, const std::string& node) {
    try {
      const OnnxValue value = nodes_.ValueOf(name);
      if (!value.exists()) Throw(Code::kInvalidArgument, "has no name");
      if (value.list() != nullptr)
        Throw(Code::kUnimplemented,
              "is a sequence of tensors; make the model join them (ConcatFromSequence)");
      to_.Name(node + "/order");
      const OnnxValue plain = to_.Plain(value);
      const Endpoint at = to_.builder()->Op("Identity", node).Input(to_.At(plain)).Build();
      model_.spec.fetches.push_back(to_.builder()->graph().TensorName(at));
      AddTitle(node, name);
    } catch (const Error& error) {
      Throw(error.code(), "the output '{}' {}", name, error.message());
    }
  }

  // The nodes that outputs come from, and the inputs, all in their order.
  Graph Needed(Graph whole) const {
    IdVector<NodeId, NodeId> number(whole.num_nodes());
    std::vector<NodeId> open;
    std::vector<bool> needed(whole.num_nodes(), false);
    const auto need = [&](NodeId node) {
      if (!needed[node.index()]) open.push_back(node);
      needed[node.index()] = true;
    };
    for (const std::string& name : inputs_) need(whole.FindNode(name));
    for (const std::string& name : model_.spec.fetches) need(whole.FindEndpoint(name).node);
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      for (const Endpoint& input : whole.node(node).inputs) need(input.node);
    }
    Graph graph;
    for (const NodeId id : whole.node_ids()) {
      if (!needed[id.index()]) continue;
      Node node = std::move(whole.node(id));
      for (Endpoint& input : node.inputs) input.node = number[input.node];
      number[id] = graph.AddNode(std::move(node));
    }
    return graph;
  }

  const onnx::GraphProto& graph_;
  const std::map<std::string, Shape>& shapes_;
  OnnxModel model_;
  OnnxEmitter to_;
  OnnxDimensions sizes_;
  OnnxNodeReader nodes_;
  std::vector<std::string> inputs_;
};

}  // namespace

bool IsOnnxModel(std::string_view path) { return path.ends_with(".onnx"); }

OnnxModel ParseOnnxModel(std::string_view bytes, const std::string& folder,
                         const std::map<std::string, Shape>& shapes) {
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (bytes.size() > kMaxFileBytes || !model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      model->graph().node().empty())
    Throw(Code::kInvalidArgument, "the bytes are no ONNX model, or a damaged one");
  if (model->graph().output().empty()) Throw(Code::kInvalidArgument, "the model has no output");
  return OnnxReader(*model, folder, shapes).Read();
}

OnnxModel ReadOnnxModel(const std::string& path, const std::map<std::string, Shape>& shapes) {
  const std::string bytes = ReadFile(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    return ParseOnnxModel(bytes, folder.empty() ? "." : folder, shapes);
  } catch (const Error& error) {
    Throw(error.code(), "{}: {}", path, error.message());
  }
}

bool ReadsByShape(std::string_view op) {
  return op.starts_with(kCostOnlyPrefix) &&
         AllOnnxRules().contains(std::string(op.substr(kCostOnlyPrefix.size())));
}

std::vector<std::string> OnnxOps() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : AllOnnxRules()) names.push_back(name);
  for (const std::string& name : ControlFlowOps()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::string RunConfigurationOf(const OnnxModel& model) {
  nlohmann::json feeds = nlohmann::json::object();
  for (const auto& [name, feed] : model.spec.feeds) {
    feeds[name] = {{"dtype", NumpyName(feed.dtype)},
                   {"shape", std::vector<int64_t>(feed.shape.dims().begin(), feed.shape.dims().end())},
                   {"generator", feed.generator},
                   {"low", feed.low},
                   {"high", feed.high},
                   {"seed", feed.seed}};
  }
  return nlohmann::json{{"feeds", feeds}, {"fetches", model.spec.fetches}}.dump(2) + "\n";
}

}  // namespace lanescope
