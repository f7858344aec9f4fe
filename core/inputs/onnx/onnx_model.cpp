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
#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/onnx_tensor.h"

namespace lanescope {
namespace {

// Rules look at this many without asking how many there are.
constexpr size_t kLeastInputs = 3;
// Of the names of ops that a graph has by their cost alone.
constexpr std::string_view kCostOnlyPrefix = "Onnx";

class OnnxReader {
 public:
  OnnxReader(const onnx::ModelProto& model, const std::string& folder,
             const std::map<std::string, Shape>& shapes)
      : graph_(model.graph()), folder_(folder), shapes_(shapes) {
    for (const onnx::OperatorSet& set : model.opset_import())
      if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
  }

  OnnxModel Read() {
    for (const onnx::ValueInfo& info : graph_.value_info()) types_[info.name()] = &info.type().tensor_type();
    for (const onnx::ValueInfo& info : graph_.output()) types_[info.name()] = &info.type().tensor_type();
    for (const onnx::TensorProto& tensor : graph_.initializer()) weights_.emplace(tensor.name(), &tensor);
    for (const onnx::ValueInfo& input : graph_.input()) AddInput(input);
    std::unordered_map<std::string, std::string> reserved;
    for (const onnx::ValueInfo& output : graph_.output())
      reserved.emplace(output.name(), to_.FreeName(output.name()));
    for (const onnx::NodeProto& node : graph_.node()) AddNode(node);
    for (const onnx::ValueInfo& output : graph_.output()) AddOutput(output.name(), reserved[output.name()]);
    model_.graph = Needed(to_.builder()->Take());
    NoteProblems(&model_.graph);
    return std::move(model_);
  }

 private:
  // Some models list their weights among the inputs.
  void AddInput(const onnx::ValueInfo& input) {
    if (weights_.contains(input.name())) return;
    const std::string name = to_.FreeName(input.name());
    try {
      const DataType dtype = OnnxDataType(input.type().tensor_type().elem_type());
      Shape shape = OnnxShape(input.type().tensor_type());
      for (const std::string& known : {input.name(), name}) {
        if (const auto given = shapes_.find(known); given != shapes_.end())
          shape = MergeShapes(shape, given->second);
      }
      if (!shape.known_rank()) Throw(Code::kUnimplemented, "has no shape");
      for (int i = 0; i < shape.rank(); ++i)
        if (!IsExact(shape.dim(i))) shape.set_dim(i, 1);
      model_.spec.feeds[name] = DefaultFeed(name, dtype, shape);
      values_[input.name()] = to_.Feed(name, dtype, shape);
      inputs_.push_back(name);
    } catch (const Error& error) {
      Throw(error.code(), "the input '{}' {}", input.name(), error.message());
    }
  }

  OnnxValue ValueOf(const std::string& name) {
    if (name.empty()) return {};
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    const auto weight = weights_.find(name);
    if (weight == weights_.end())
      Throw(Code::kInvalidArgument, "reads '{}', which nothing before it makes", name);
    return values_[name] = to_.Constant(OnnxTensor(*weight->second, folder_), name);
  }

  void AddNode(const onnx::NodeProto& proto) {
    const std::string name = !proto.name().empty()     ? proto.name()
                             : proto.output_size() > 0 ? proto.output(0)
                                                       : proto.op_type();
    try {
      to_.Name(name);
      OnnxValues inputs;
      for (const std::string& input : proto.input()) inputs.push_back(ValueOf(input));
      inputs.resize(std::max(inputs.size(), kLeastInputs));
      OnnxValues outputs = ByRule(proto, inputs);
      if (outputs.empty()) outputs = ByCost(proto, inputs);
      for (int i = 0; i < proto.output_size(); ++i) {
        if (proto.output(i).empty()) continue;
        if (static_cast<size_t>(i) >= outputs.size())
          Throw(Code::kInvalidArgument, "has {} outputs, not {}", outputs.size(), proto.output_size());
        if (!values_.emplace(proto.output(i), outputs[static_cast<size_t>(i)]).second)
          Throw(Code::kInvalidArgument, "makes '{}', which is there already", proto.output(i));
      }
    } catch (const Error& error) {
      Throw(error.code(), "the {} '{}' {}", proto.op_type(), name, error.message());
    }
  }

  OnnxValues ByRule(const onnx::NodeProto& proto, const OnnxValues& inputs) {
    if (!proto.domain().empty() && proto.domain() != "ai.onnx") return {};
    const auto rule = AllOnnxRules().find(proto.op_type());
    if (rule == AllOnnxRules().end()) return {};
    const bool needs_none = proto.op_type() == "Constant";
    if (!needs_none && !inputs[0].exists()) Throw(Code::kInvalidArgument, "lacks its first input");
    return rule->second(to_, OnnxNode(proto, opset_, folder_), inputs);
  }

  // Of an op that no rule knows, shapes are what the model itself says.
  OnnxValues ByCost(const onnx::NodeProto& proto, const OnnxValues& inputs) {
    std::vector<TensorInfo> outputs;
    for (const std::string& name : proto.output()) {
      TensorInfo info;
      info.dtype = inputs[0].exists() ? inputs[0].dtype() : DataType::kFloat;
      if (const auto type = types_.find(name); type != types_.end() && type->second->elem_type() != 0) {
        info.dtype = OnnxDataType(type->second->elem_type());
        info.shape = OnnxShape(*type->second);
        for (int i = 0; i < info.shape.rank(); ++i)
          if (!IsExact(info.shape.dim(i))) info.shape = Shape::Unknown();
      }
      outputs.push_back(info);
    }
    std::string op(kCostOnlyPrefix);
    for (const char c : proto.op_type())
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) op += c;
    return to_.CostOnly(op, inputs, outputs, 0);
  }

  // A node of its own under the output's name, whatever made it.
  void AddOutput(const std::string& name, const std::string& node) {
    try {
      const OnnxValue value = ValueOf(name);
      if (!value.exists()) Throw(Code::kInvalidArgument, "has no name");
      to_.Name(node + "/order");
      const OnnxValue plain = to_.Plain(value);
      to_.Name(node, true);
      model_.spec.fetches.push_back(to_.builder()->graph().TensorName(to_.At(to_.Node("Identity", {plain}))));
    } catch (const Error& error) {
      Throw(error.code(), "the output '{}' {}", name, error.message());
    }
  }

  // What the outputs come from, and the inputs, all in their order.
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
  const std::string& folder_;
  const std::map<std::string, Shape>& shapes_;
  int64_t opset_ = 1;
  OnnxModel model_;
  OnnxEmitter to_;
  std::vector<std::string> inputs_;
  std::unordered_map<std::string, OnnxValue> values_;
  std::unordered_map<std::string, const onnx::TensorProto*> weights_;
  std::unordered_map<std::string, const onnx::TensorType*> types_;
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
