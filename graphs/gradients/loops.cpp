// SPDX-License-Identifier: Apache-2.0
// The gradient of While: a loop that runs as often, backwards. What a trip's gradient takes of the trip, the
// first loop appends to lists, and the second takes off their ends, as TensorFlow does.
#include <algorithm>

#include "core/base/error.h"
#include "graphs/constants.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/function_gradient.h"

namespace lanescope::graphs {
namespace {

// An attribute of loops: which of their variables counts the trips.
constexpr const char* kTrips = "_lanescope_trips";

constexpr int kMaxRounds = 8;  // of finding the shapes of a loop's variables

Endpoint ConstantIn(Graph* graph, const std::string& name, const Tensor& value) {
  Node node = MakeNode("Const", name, {}, {{"dtype", value.dtype()}});
  node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{value, ""});
  return {graph->AddNode(std::move(node)), 0};
}

Tensor One(DataType type) { return NumbersAs(Tensor::Scalar<int32_t>(1), type); }
Tensor Zero(DataType type) { return NumbersAs(Tensor::Scalar<int32_t>(0), type); }

// As lists want the shape of their elements: -1 where it is not known.
Tensor ElementShape(const lanescope::Shape& shape) {
  if (!shape.known_rank()) return Tensor::Scalar<int32_t>(-1);
  std::vector<int32_t> dims;
  for (const Dim dim : shape.dims()) dims.push_back(IsExact(dim) ? static_cast<int32_t>(dim) : -1);
  return Tensor::FromValues(lanescope::Shape{static_cast<Dim>(dims.size())}, dims);
}

// The body's arguments: of shapes that every trip keeps, as far as they are known.
std::vector<TensorInfo> ArgumentsOf(const OpGradient& g) {
  std::vector<TensorInfo> arguments;
  for (int i = 0; i < g.num_inputs(); ++i) arguments.push_back(g.s.Info(g.in(i)));
  FunctionBody body = ReadFunction(g.s.graph(), g.node(), "body");
  if (body.arguments.size() != arguments.size() || body.outputs.size() != arguments.size()) {
    Throw(Code::kInvalidArgument, "node '{}' ({}) does not fit its body", g.node().name, g.node().op);
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    for (size_t i = 0; i < arguments.size(); ++i)
      NoteArgument(arguments[i], &body.graph.node(body.arguments[i]));
    const GraphInfo info = InferGraph(body.graph, {});
    bool changed = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const lanescope::Shape& next = info.of(body.outputs[i]).shape;
      lanescope::Shape& shape = arguments[i].shape;
      if (next == shape || !shape.known_rank()) continue;
      lanescope::Shape common = shape;
      if (next.known_rank() && next.rank() == shape.rank()) {
        for (int k = 0; k < next.rank(); ++k)
          if (next[k] != shape[k]) common.set_dim(k, kUnknownDim);
      } else {
        common = Shape::Unknown();
      }
      changed = changed || !(common == shape);
      shape = common;
    }
    if (!changed) return arguments;
  }
  for (TensorInfo& argument : arguments) argument.shape = Shape::Unknown();
  return arguments;
}

class LoopGradient {
 public:
  explicit LoopGradient(const OpGradient& g) : g_(g), count_(CountOf(g)), given_(GivenOf(g)), body_(Read()) {}

  std::vector<Gradient> Write() {
    std::vector<Endpoint> results;
    for (size_t i = 0; i < count_; ++i) {
      if (!given_[i].node.exists()) continue;
      Gradient& gradient = body_.gradient(i);
      const DataType type = g_.s.TypeOf(given_[i]);
      if (gradient.empty()) gradient = body_.Zeros(i, type);
      results.push_back(gradient.ToDense(body_.s()));
    }
    if (results.empty()) return {};
    taken_ = body_.Finish(results);
    HandOut();
    return WriteGradientNode();
  }

 private:
  // The variables that gradients go through.
  static size_t CountOf(const OpGradient& g) {
    const auto all = static_cast<int64_t>(g.num_grads());
    return static_cast<size_t>(std::clamp<int64_t>(g.node().IntAttr("_num_original_outputs", all), 0, all));
  }

  // The gradients of the loop's results; of lists and variables behind handles that nobody reads, zeros.
  static std::vector<Endpoint> GivenOf(const OpGradient& g) {
    std::vector<Endpoint> given;
    for (int i = 0; i < static_cast<int>(CountOf(g)); ++i) {
      given.emplace_back();
      if (!IsTrainable(g.s, g.in(i))) continue;
      if (!g.raw_grad(i).empty()) {
        given.back() = g.grad(i);
      } else if (g.type(g.out(i)) == DataType::kVariant) {
        given.back() = op::ZerosLike(g.s, g.out(i), {.name = "zeros_like"});
      } else if (const DataType type = VariableType(g, i); type != DataType::kInvalid) {
        const Endpoint shape = op::VariableShape(g.s, g.in(i));
        given.back() = op::Fill(g.s, shape, ScalarOf(g.s, 0, type), {.name = "zeros"});
      }
    }
    return given;
  }

  // The element type of the variable behind a handle, where it holds real numbers.
  static DataType VariableType(const OpGradient& g, int input) {
    const TensorInfo& info = g.s.Info(g.in(input));
    if (info.dtype != DataType::kResource || info.handle == nullptr) return DataType::kInvalid;
    const DataType type = info.handle->dtype;
    const bool real = type == DataType::kFloat || type == DataType::kDouble || type == DataType::kHalf ||
                      type == DataType::kBfloat16;
    return real ? type : DataType::kInvalid;
  }

  FunctionGradient Read() {
    std::vector<DataType> types;
    for (const Endpoint& given : given_)
      types.push_back(given.node.exists() ? g_.s.TypeOf(given) : DataType::kInvalid);
    return FunctionGradient(g_, g_.node(), "body", ArgumentsOf(g_), types);
  }

  // Whether the body hands the variable on as it is.
  bool IsInvariant(int argument) const {
    const auto i = static_cast<size_t>(argument);
    return body_.Source(body_.outputs()[i]) == body_.argument(i);
  }

  // The loop with a list for everything that is taken of it and that is another one every trip. Loops that
  // count their trips themselves say so (TensorFlow's do); others get a counter.
  void HandOut() {
    Scope& outer = g_.s;
    Node node = outer.graph().node(g_.out().node);
    Scope& s = body_.s();
    std::vector<NodeId> arguments, nodes;
    std::vector<Endpoint> outputs;
    const auto add = [&](Endpoint first, DataType type) {
      const std::string name = "added_" + std::to_string(arguments.size());
      arguments.push_back(s.AddNode(MakePlaceholder(name, type)).node);
      nodes.push_back(arguments.back());
      node.inputs.push_back(first);
      shapes_.push_back(outer.ShapeOf(first));
      return Endpoint{arguments.back(), 0};
    };
    const auto free = outer.NoControlDependencies();
    if (!FindTotal()) {
      const Endpoint before = add(outer.Constant(Zero(DataType::kInt32), "trips"), DataType::kInt32);
      const Endpoint one = s.Constant(One(DataType::kInt32), "one_trip");
      outputs.push_back(op::AddV2(s, before, one, {.name = "trips"}));
      nodes.insert(nodes.end(), {one.node, outputs.back().node});
      total_ = g_.num_grads();
      node.attrs[kTrips] = static_cast<int64_t>(total_);
    }
    for (const Endpoint& e : taken_) {
      const int argument = body_.ArgumentAt(e);
      const TensorInfo info = s.Info(e);
      if (argument >= 0 && IsInvariant(argument)) {
        sources_.push_back({argument, false});
        continue;
      }
      if (info.dtype == DataType::kResource) {
        Throw(Code::kUnimplemented, "the gradient of '{}': its body changes which variable '{}' is",
              g_.node().name, s.graph().TensorName(e));
      }
      sources_.push_back({g_.num_grads() + static_cast<int>(outputs.size()), true});
      const Endpoint list = add(NewList(info), DataType::kVariant);
      Node push =
          MakeNode("TensorListPushBack", "TensorListPushBack", {list, e}, {{"element_dtype", info.dtype}});
      outputs.push_back(s.AddNode(std::move(push)));
      nodes.push_back(outputs.back().node);
    }
    if (!outputs.empty()) Rewrite(body_.Function(arguments, outputs, nodes), std::move(node));
  }

  // Whether a variable counts the trips already: one of TensorFlow's loop, or one that it got here.
  bool FindTotal() {
    const Node& node = g_.node();
    total_ = 0;
    if (node.FindAttr(kTrips) != nullptr) {
      const int64_t given = node.IntAttr(kTrips);
      if (given < 0 || given >= g_.num_grads())
        Throw(Code::kInvalidArgument, "node '{}' has no output {} ({})", node.name, given, kTrips);
      total_ = static_cast<int>(given);
    } else if (node.FindAttr("_num_original_outputs") == nullptr || count_ == 0) {
      return false;
    }
    const DataType type = g_.type(g_.in(total_));
    return type == DataType::kInt32 || type == DataType::kInt64;
  }

  Endpoint NewList(const TensorInfo& element) {
    Scope& outer = g_.s;
    const Endpoint shape = outer.Constant(ElementShape(element.shape), "element_shape");
    const Endpoint most = outer.Constant(Tensor::Scalar<int32_t>(-1), "max_num_elements");
    return outer.AddNode(MakeNode("EmptyTensorList", "accumulator", {shape, most},
                                  {{"element_dtype", element.dtype}, {"shape_type", DataType::kInt32}}));
  }

  void Rewrite(const FunctionBody& body, Node node) {
    const std::string name = FunctionNameOf(g_.node(), "body");
    node.attrs["body"] = g_.s.AddFunction(body, name + "_rewritten");
    FunctionBody condition = ReadFunction(g_.s.graph(), g_.node(), "cond");
    std::vector<DataType> types;
    for (const Endpoint& input : node.inputs) types.push_back(g_.s.TypeOf(input));
    for (size_t i = condition.arguments.size(); i < types.size(); ++i) {
      std::string unused = "unused_" + std::to_string(i);
      while (condition.graph.FindNode(unused).exists()) unused += "_";
      condition.arguments.push_back(condition.graph.AddNode(MakePlaceholder(unused, types[i])));
    }
    node.attrs["cond"] = g_.s.AddFunction(condition, FunctionNameOf(g_.node(), "cond") + "_rewritten");
    node.attrs["T"] = types;
    const auto shapes = node.attrs.find("output_shapes");
    if (shapes != node.attrs.end()) {
      auto* list = std::get_if<std::vector<ShapeAttr>>(&shapes->second);
      if (list != nullptr && !list->empty())
        for (const lanescope::Shape& shape : shapes_) list->push_back({shape, ""});
    }
    // Second derivatives go through what is added, too.
    node.attrs["_num_original_outputs"] = static_cast<int64_t>(node.inputs.size());
    g_.s.Replace(g_.out().node, std::move(node));
  }

  // Its variables: a counter, the number of trips, gradients, and what is taken of the first loop.
  std::vector<Gradient> WriteGradientNode() {
    Scope& outer = g_.s;
    const Endpoint total = g_.out(total_);
    const DataType counted = outer.TypeOf(total);
    Node node =
        MakeNode("StatelessWhile", g_.node().name, {outer.Constant(Zero(counted), "grad_counter"), total});
    std::vector<size_t> differentiated;
    for (size_t i = 0; i < count_; ++i) {
      if (!given_[i].node.exists()) continue;
      node.inputs.push_back(given_[i]);
      differentiated.push_back(i);
    }
    for (const auto& [output, is_list] : sources_) node.inputs.push_back(g_.out(output));
    std::vector<DataType> types;
    for (const Endpoint& input : node.inputs) types.push_back(outer.TypeOf(input));
    const FunctionBody body = GradientBody(types, differentiated);
    if (HasState(body.graph)) node.op = "While";
    const std::string name = FunctionNameOf(g_.node(), "body");
    node.attrs["body"] = outer.AddFunction(body, name + "_grad");
    node.attrs["cond"] =
        outer.AddFunction(GradientCondition(types), FunctionNameOf(g_.node(), "cond") + "_grad");
    node.attrs["T"] = types;
    node.attrs["output_shapes"] = std::vector<ShapeAttr>();
    node.attrs["parallel_iterations"] = g_.node().IntAttr("parallel_iterations", 10);
    node.attrs["_num_original_outputs"] = static_cast<int64_t>(types.size());
    node.attrs["_lower_using_switch_merge"] = true;
    const Endpoint made = outer.AddNode(std::move(node));
    std::vector<Gradient> gradients(static_cast<size_t>(g_.num_inputs()));
    for (size_t k = 0; k < differentiated.size(); ++k) {
      const size_t i = differentiated[k];
      gradients[i] = op::Identity(outer, Scope::Output(made, static_cast<int>(2 + k)));
    }
    return gradients;
  }

  FunctionBody GradientBody(const std::vector<DataType>& types, const std::vector<size_t>& differentiated) {
    FunctionBody to;
    for (size_t i = 0; i < types.size(); ++i)
      to.arguments.push_back(to.graph.AddNode(MakePlaceholder("variable_" + std::to_string(i), types[i])));
    const auto variable = [&](size_t i) { return Endpoint{to.arguments[i], 0}; };
    const Endpoint one = ConstantIn(&to.graph, "one_trip", One(types[0]));
    Node counter = MakeNode("AddV2", "grad_counter", {variable(0), one}, {{"T", types[0]}});
    to.outputs = {{to.graph.AddNode(std::move(counter)), 0}, variable(1)};
    TensorMap known;
    for (size_t k = 0; k < differentiated.size(); ++k)
      known[KeyOf(body_.given(differentiated[k]))] = variable(2 + k);
    std::vector<Endpoint> left;  // of what is taken
    for (size_t k = 0; k < taken_.size(); ++k) {
      const Endpoint source = variable(2 + differentiated.size() + k);
      left.push_back(source);
      known[KeyOf(taken_[k])] = source;
      if (!sources_[k].is_list) continue;
      const TensorInfo& info = body_.s().Info(taken_[k]);
      const std::string number = std::to_string(k);
      const Endpoint shape = ConstantIn(&to.graph, "element_shape_" + number, ElementShape(info.shape));
      Node pop = MakeNode("TensorListPopBack", "TensorListPopBack_" + number, {source, shape},
                          {{"element_dtype", info.dtype}});
      const NodeId popped = to.graph.AddNode(std::move(pop));
      left.back() = {popped, 0};
      known[KeyOf(taken_[k])] = {popped, 1};
    }
    body_.WriteGradient(std::move(known), &to);
    to.outputs.insert(to.outputs.end(), left.begin(), left.end());
    return to;
  }

  FunctionBody GradientCondition(const std::vector<DataType>& types) const {
    FunctionBody to;
    to.graph.extra = g_.s.graph().extra;
    for (size_t i = 0; i < types.size(); ++i)
      to.arguments.push_back(to.graph.AddNode(MakePlaceholder("variable_" + std::to_string(i), types[i])));
    Node less = MakeNode("Less", "Less", {{to.arguments[0], 0}, {to.arguments[1], 0}}, {{"T", types[0]}});
    to.outputs = {{to.graph.AddNode(std::move(less)), 0}};
    return to;
  }

  // A tensor that is taken: the output of the first loop that has it, or a list of it.
  struct Taken {
    int output;
    bool is_list;
  };

  const OpGradient& g_;
  const size_t count_;
  const std::vector<Endpoint> given_;  // by variable; no node where there is no gradient
  FunctionGradient body_;
  std::vector<Endpoint> taken_;
  std::vector<Taken> sources_;
  std::vector<lanescope::Shape> shapes_;  // of variables that the loop got
  int total_ = 0;                         // the loop's output that says how often it ran
};

std::vector<Gradient> WhileGradient(const OpGradient& g) { return LoopGradient(g).Write(); }

}  // namespace

void AddLoopGradients(GradientTable& table) {
  table.Add("While", WhileGradient);
  table.Add("StatelessWhile", WhileGradient);
}

}  // namespace lanescope::graphs
