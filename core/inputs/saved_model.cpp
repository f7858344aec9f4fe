// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/saved_model.h"

#include <fmt/ranges.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/expand/functions.h"
#include "core/graph/graph_proto.h"
#include "core/graph/raised_loops.h"
#include "core/graph/tensor_proto.h"
#include "core/graph/validate.h"
#include "core/inputs/default_feed.h"
#include "core/inputs/tensor_bundle.h"
#include "lanescope_saved_model.pb.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

std::string NodeNameOf(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

tf::MetaGraph* ServingGraph(tf::SavedModelProto* model) {
  for (tf::MetaGraph& graph : *model->mutable_meta_graphs()) {
    if (std::ranges::count(graph.meta_info_def().tags(), "serve") > 0) return &graph;
  }
  if (model->meta_graphs_size() == 1) return model->mutable_meta_graphs(0);
  Throw(Code::kNotFound, "has {} graphs, and none has the tag 'serve'", model->meta_graphs_size());
}

const tf::SignatureDef& SignatureIn(const tf::MetaGraph& graph, const std::string& name) {
  const auto& all = graph.signature_def();
  if (const auto found = all.find(name.empty() ? "serving_default" : name); found != all.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const auto& [key, signature] : all) {
    if (!key.starts_with("__")) names.push_back(key);
  }
  std::ranges::sort(names);
  if (name.empty() && names.size() == 1) return all.at(names[0]);
  if (names.empty()) {
    Throw(Code::kNotFound,
          "has no signatures; save it with one, `tf.saved_model.save(model, FOLDER, signatures=FUNCTION)`");
  }
  Throw(Code::kNotFound, "has no signature '{}'; it has {}", name.empty() ? "serving_default" : name,
        fmt::join(names, ", "));
}

FeedSpec SignatureFeed(const std::string& name, const tf::SignatureTensor& tensor) {
  Shape shape;
  const Shape open = ShapeFromProto(tensor.tensor_shape());
  for (const Dim size : open.dims()) shape.Append(IsExact(size) ? size : 1);
  return DefaultFeed(name, static_cast<DataType>(tensor.dtype()), shape);
}

// The texts of a constant.
const Tensor& TextsOf(const Graph& graph, const Node& user, size_t input) {
  if (user.inputs.size() <= input) Throw(Code::kInvalidArgument, "node '{}' lacks an input", user.name);
  const Node& source = graph.node(user.inputs[input].node);
  if (source.op != "Const") {
    Throw(Code::kUnimplemented, "node '{}' restores tensors whose names are no constants", user.name);
  }
  const Tensor& texts = source.GetTensorAttr("value");
  if (texts.dtype() != DataType::kString) {
    Throw(Code::kInvalidArgument, "node '{}' restores tensors whose names are no texts", user.name);
  }
  return texts;
}

Node RestoredConstant(const std::string& name, const std::string& device, Tensor value) {
  Node node;
  node.name = name;
  node.op = "Const";
  node.device = device;
  node.attrs["dtype"] = value.dtype();
  node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{std::move(value), ""});
  return node;
}

// Results of RestoreV2 nodes that others read become constants.
void RestoreConstants(const TensorBundle& bundle, Graph* graph) {
  std::map<std::pair<NodeId, int>, NodeId> restored;
  for (const NodeId user : graph->node_ids()) {
    for (size_t i = 0; i < graph->node(user).inputs.size(); ++i) {
      const Endpoint input = graph->node(user).inputs[i];
      const Node& restore = graph->node(input.node);
      if (restore.op != "RestoreV2") continue;
      const auto [known, first] =
          restored.try_emplace({input.node, input.output}, NodeId(graph->num_nodes()));
      if (first) {
        const Tensor& names = TextsOf(*graph, restore, 1);
        const Tensor& slices = TextsOf(*graph, restore, 2);
        if (input.output < 0 || input.output >= names.NumElements() || input.output >= slices.NumElements()) {
          Throw(Code::kInvalidArgument, "node '{}' restores no tensor {}", restore.name, input.output);
        }
        if (!slices.data<std::string>()[input.output].empty()) {
          Throw(Code::kUnimplemented, "node '{}' restores slices of tensors", restore.name);
        }
        const std::string name = fmt::format("{}/tensor_{}", restore.name, input.output);
        graph->AddNode(
            RestoredConstant(name, restore.device, bundle.Read(names.data<std::string>()[input.output])));
      }
      graph->node(user).inputs[i] = {known->second, 0};
    }
  }
}

// The variables that a node and all that it waits for assign.
std::set<NodeId> AssignedBy(const Graph& graph, NodeId root) {
  std::set<NodeId> seen{root}, assigned;
  std::vector<NodeId> open{root};
  while (!open.empty()) {
    const Node& node = graph.node(open.back());
    open.pop_back();
    if (node.op == "AssignVariableOp" && !node.inputs.empty()) assigned.insert(node.inputs[0].node);
    std::vector<NodeId> sources = node.control_inputs;
    for (const Endpoint& input : node.inputs) sources.push_back(input.node);
    for (const NodeId source : sources)
      if (seen.insert(source).second) open.push_back(source);
  }
  return assigned;
}

std::string FreeNodeName(const Graph& graph, std::string name) {
  while (graph.FindNode(name).exists()) name += "_";
  return name;
}

// Restores what the node leaves out: Keras saves copies of its variables, while the step uses the variables
// themselves, whose values are found by their names. Returns the nodes that assign those.
std::vector<std::string> RestoreByName(const TensorBundle& bundle, NodeId restore, Graph* graph) {
  const std::map<std::string, std::string> tensors = bundle.TensorsOfVariables();
  const std::set<NodeId> assigned = AssignedBy(*graph, restore);
  std::vector<std::string> assignments;
  const size_t count = graph->num_nodes();
  for (size_t i = 0; i < count && !tensors.empty(); ++i) {
    const NodeId id(i);
    const Node& variable = graph->node(id);
    if (variable.op != "VarHandleOp" || assigned.contains(id)) continue;
    const std::string shared = variable.StringAttr("shared_name", "");
    const auto tensor = tensors.find(shared.empty() ? variable.name : shared);
    if (tensor == tensors.end()) continue;
    Tensor value = bundle.Read(tensor->second);
    if (variable.TypeAttr("dtype") != value.dtype())
      Throw(Code::kInvalidArgument, "the variable '{}' is of type {}, its value of {}", variable.name,
            DataTypeName(variable.TypeAttr("dtype")), DataTypeName(value.dtype()));
    Node assign;
    assign.name = FreeNodeName(*graph, variable.name + "/restored");
    assign.op = "AssignVariableOp";
    assign.device = variable.device;
    assign.attrs["dtype"] = value.dtype();
    const std::string constant = FreeNodeName(*graph, variable.name + "/restored/value");
    assign.inputs = {{id, 0}, {NodeId(graph->num_nodes()), 0}};
    graph->AddNode(RestoredConstant(constant, variable.device, std::move(value)));
    assignments.push_back(assign.name);
    graph->AddNode(std::move(assign));
  }
  return assignments;
}

// The node that runs after the variables are there: tables are filled by it.
std::string InitOp(const tf::MetaGraph& meta) {
  for (const char* collection : {"saved_model_main_op", "legacy_init_op"}) {
    const auto found = meta.collection_def().find(collection);
    if (found != meta.collection_def().end() && found->second.node_list().value_size() > 0) {
      return NodeNameOf(found->second.node_list().value(0));
    }
  }
  const auto found = meta.signature_def().find("__saved_model_init_op");
  if (found == meta.signature_def().end() || found->second.outputs().empty()) return "";
  return NodeNameOf(found->second.outputs().begin()->second.name());
}

// By the numbers of google.rpc.Code.
Code CodeOf(int32_t number) {
  switch (number) {
    case 1:
      return Code::kCancelled;
    case 3:
      return Code::kInvalidArgument;
    case 4:
      return Code::kDeadlineExceeded;
    case 5:
      return Code::kNotFound;
    case 6:
      return Code::kAlreadyExists;
    case 8:
      return Code::kResourceExhausted;
    case 9:
      return Code::kFailedPrecondition;
    case 10:
      return Code::kAborted;
    case 11:
      return Code::kOutOfRange;
    case 12:
      return Code::kUnimplemented;
    case 13:
      return Code::kInternal;
    case 15:
      return Code::kDataLoss;
    default:
      return Code::kUnknown;
  }
}

std::vector<QueueRunnerSpec> QueueRunnersOf(const tf::MetaGraph& meta) {
  std::vector<QueueRunnerSpec> runners;
  const auto found = meta.collection_def().find("queue_runners");
  if (found == meta.collection_def().end()) return runners;
  for (const std::string& bytes : found->second.bytes_list().value()) {
    tf::QueueRunnerDef def;
    if (!def.ParseFromString(bytes)) Throw(Code::kInvalidArgument, "holds a damaged queue runner");
    QueueRunnerSpec& runner = runners.emplace_back();
    runner.queue = NodeNameOf(def.queue_name());
    for (const std::string& op : def.enqueue_op_name()) runner.enqueue_ops.push_back(NodeNameOf(op));
    runner.close_op = NodeNameOf(def.close_op_name());
    runner.cancel_op = NodeNameOf(def.cancel_op_name());
    for (const int32_t code : def.queue_closed_exception_types()) runner.closed_on.push_back(CodeOf(code));
  }
  return runners;
}

SavedModel Convert(const std::string& path, tf::MetaGraph* meta, const std::string& signature_name) {
  const tf::SignatureDef& signature = SignatureIn(*meta, signature_name);
  SavedModel model;
  for (const auto& [key, tensor] : signature.inputs()) {
    const FeedSpec& feed = model.spec.feeds[tensor.name()] = SignatureFeed(key, tensor);
    const Shape open = ShapeFromProto(tensor.tensor_shape());
    if (!open.IsExact())
      model.notes[tensor.name()] =
          fmt::format("'{}' of shape {} is taken as {}", key, open.ToString(), feed.shape.ToString());
  }
  std::map<std::string, std::string> outputs;
  for (const auto& [key, tensor] : signature.outputs()) outputs[key] = tensor.name();
  for (const auto& [key, tensor] : outputs) model.spec.fetches.push_back(tensor);
  model.spec.queue_runners = QueueRunnersOf(*meta);
  const std::string init = InitOp(*meta);
  const tf::SaverDef saver = meta->saver_def();
  RaiseLoops(meta->mutable_graph_def());
  Graph graph = GraphFromProto(meta->mutable_graph_def());
  NoteProblems(&graph);
  graph = InlineCalls(graph);
  const std::string prefix = (fs::path(path) / "variables" / "variables").string();
  std::error_code ignored;
  if (!saver.restore_op_name().empty() && fs::exists(prefix + ".index", ignored)) {
    const NodeId file = graph.FindNode(NodeNameOf(saver.filename_tensor_name()));
    if (file.exists()) {
      Tensor name(DataType::kString, Shape{});
      name.data<std::string>()[0] = prefix;
      graph.node(file) = RestoredConstant(graph.node(file).name, graph.node(file).device, std::move(name));
    }
    const TensorBundle bundle(prefix);
    RestoreConstants(bundle, &graph);
    model.spec.init.push_back(NodeNameOf(saver.restore_op_name()));
    if (const NodeId restore = graph.FindNode(model.spec.init.back()); restore.exists())
      for (std::string& node : RestoreByName(bundle, restore, &graph))
        model.spec.init.push_back(std::move(node));
    graph.problems.clear();
    NoteProblems(&graph);
  }
  if (!init.empty() && graph.FindNode(init).exists()) model.spec.init.push_back(init);
  for (const auto* tensors : {&signature.inputs(), &signature.outputs()})
    for (const auto& [key, tensor] : *tensors)
      if (!graph.FindNode(key).exists()) model.spec.aliases.emplace(key, tensor.name());
  model.graph = std::move(graph);
  return model;
}

}  // namespace

bool IsSavedModel(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / "saved_model.pb", ignored);
}

SavedModel ReadSavedModel(const std::string& path, const std::string& signature) {
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* model = google::protobuf::Arena::CreateMessage<tf::SavedModelProto>(&arena);
  try {
    if (!model->ParseFromString(ReadFile((fs::path(path) / "saved_model.pb").string()))) {
      Throw(Code::kInvalidArgument, "holds no SavedModel, or a damaged one");
    }
    return Convert(path, ServingGraph(model), signature);
  } catch (const Error& error) {
    Throw(error.code(), "'{}': {}", path, error.message());
  }
}

}  // namespace lanescope
