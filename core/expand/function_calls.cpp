// SPDX-License-Identifier: Apache-2.0
#include "core/expand/function_calls.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/graph/recorded_signatures.h"
#include "core/machine/device_name.h"

namespace lanescope {
namespace {

constexpr int kMaxCalls = 64;
constexpr size_t kMaxInlined = size_t{1} << 19;

using Functions = std::unordered_map<std::string, const tf::FunctionDef*>;
using Attrs = google::protobuf::Map<std::string, tf::AttrValue>;

bool IsCallOp(std::string_view op) { return op == "PartitionedCall" || op == "StatefulPartitionedCall"; }

const OpDef* SignatureOf(const std::string& op) {
  const OpDef* def = OpRegistry::Global().Find(op);
  return def != nullptr ? def : RecordedSignature(op);
}

const tf::AttrValue* Find(const Attrs& attrs, const std::string& name) {
  const auto found = attrs.find(name);
  return found == attrs.end() ? nullptr : &found->second;
}

// A function called by a node, with the attributes that its body takes from the call.
struct Call {
  const tf::FunctionDef* function = nullptr;
  const Attrs* attrs = nullptr;
};

// Writes the nodes of a graph with the calls replaced.
class Inliner {
 public:
  Inliner(const tf::FunctionDefLibrary& library, tf::GraphDef* out) : out_(out) {
    for (const tf::FunctionDef& function : library.function()) {
      functions_[function.signature().name()] = &function;
    }
  }

  bool HasCalls(const tf::GraphDef& graph) const {
    return std::ranges::any_of(graph.node(), [this](const tf::NodeDef& node) { return IsReplaced(node); });
  }

  void Run(const tf::GraphDef& graph) {
    for (const tf::NodeDef& node : graph.node()) Write(node, 0);
    for (tf::NodeDef& node : *out_->mutable_node()) Reconnect(&node);
  }

 private:
  bool IsReplaced(const tf::NodeDef& node) const {
    return IsCallOp(node.op()) || functions_.contains(node.op());
  }

  const tf::FunctionDef& FunctionCalled(const std::string& name, const tf::NodeDef& user) const {
    const auto found = functions_.find(name);
    if (found == functions_.end()) {
      Throw(Code::kInvalidArgument, "node '{}' calls function '{}', which is not in the graph's library",
            user.name(), name);
    }
    return *found->second;
  }

  Call CallIn(const tf::NodeDef& node, const std::string& attr) const {
    const tf::AttrValue* value = Find(node.attr(), attr);
    if (value == nullptr || !value->has_func()) {
      Throw(Code::kInvalidArgument, "node '{}' ({}) has no function in its attribute '{}'", node.name(),
            node.op(), attr);
    }
    return {&FunctionCalled(value->func().name(), node), &value->func().attr()};
  }

  void Write(const tf::NodeDef& node, int depth) {
    if (static_cast<size_t>(out_->node_size()) >= kMaxInlined) {
      Throw(Code::kInvalidArgument, "the graph has more than {} nodes once its functions are inlined",
            kMaxInlined);
    }
    if (!IsReplaced(node)) {
      *out_->add_node() = node;
      return;
    }
    if (depth >= kMaxCalls) {
      Throw(Code::kInvalidArgument,
            "node '{}': calls are nested more than {} deep, or a function calls itself", node.name(),
            kMaxCalls);
    }
    const Call call = IsCallOp(node.op()) ? CallIn(node, "f") : Call{functions_.at(node.op()), &node.attr()};
    const std::vector<std::string> inputs = DataInputs(node);
    Body body = WriteBody(node, call, node.name(), inputs, depth);
    Finish(node, call, body.outputs, body.effects);
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      sources_[OutputName(node.name(), i)] = body.outputs[i];
    }
  }

  struct Body {
    std::vector<std::string> outputs;  // what makes them, as inputs of nodes
    std::set<std::string> effects;     // nodes that have to run
  };

  Body WriteBody(const tf::NodeDef& caller, const Call& call, const std::string& below,
                 const std::vector<std::string>& arguments, int depth) {
    const tf::FunctionDef& function = *call.function;
    if (function.signature().input_arg_size() != static_cast<int>(arguments.size())) {
      Throw(Code::kInvalidArgument, "node '{}' gives function '{}' {} arguments; it takes {}", caller.name(),
            function.signature().name(), arguments.size(), function.signature().input_arg_size());
    }
    std::unordered_map<std::string, std::string> names;  // in the function: an argument's source
    for (size_t i = 0; i < arguments.size(); ++i) {
      names[function.signature().input_arg(static_cast<int>(i)).name()] = arguments[i];
    }
    std::unordered_map<std::string, const tf::NodeDef*> nodes;
    for (const tf::NodeDef& node : function.node_def()) nodes[node.name()] = &node;
    const auto resolve = [&](const std::string& input) {
      return Resolve(caller, function, names, nodes, below, input);
    };
    Body body;
    for (const tf::NodeDef& node : function.node_def()) {
      tf::NodeDef copy = node;
      copy.set_name(below + "/" + node.name());
      copy.set_device(DeviceOf(node.device(), caller.device()));
      copy.clear_input();
      bool waits = false;  // for a node of the body, which waits for what the call waits for
      std::vector<std::string> controls;
      for (const std::string& input : node.input()) {
        std::string source = resolve(input);
        waits |= source.starts_with(below + "/") || source.starts_with("^" + below + "/");
        if (source.starts_with('^')) {
          controls.push_back(std::move(source));
        } else {
          copy.add_input(std::move(source));
        }
      }
      if (!waits) {
        for (const std::string& input : caller.input()) {
          if (input.starts_with('^')) controls.push_back(input);
        }
      }
      for (std::string& control : controls) copy.add_input(std::move(control));
      Bind(function, call, below, &copy);
      Write(copy, depth + 1);
    }
    for (const tf::OpDef::ArgDef& output : function.signature().output_arg()) {
      const auto found = function.ret().find(output.name());
      if (found == function.ret().end()) {
        Throw(Code::kInvalidArgument, "function '{}' does not say what its output '{}' is",
              function.signature().name(), output.name());
      }
      body.outputs.push_back(resolve(found->second));
    }
    for (const auto& [name, node] : function.control_ret()) body.effects.insert(resolve("^" + node));
    if (function.control_ret().empty()) {
      for (const tf::NodeDef& node : function.node_def()) {
        if (IsStateful(node)) body.effects.insert(resolve("^" + node.name()));
      }
    }
    return body;
  }

  bool IsStateful(const tf::NodeDef& node) const {
    if (node.op() == "StatefulPartitionedCall") return true;
    const OpDef* def = OpRegistry::Global().Find(node.op());
    return def != nullptr && (def->stateful || def->role == StateRole::kUpdate) && def->name != "Placeholder";
  }

  // Attributes that are the call's, and groups of the function's nodes.
  void Bind(const tf::FunctionDef& function, const Call& call, const std::string& below, tf::NodeDef* node) {
    for (auto& [name, value] : *node->mutable_attr()) {
      if (value.value_case() == tf::AttrValue::kPlaceholder) {
        const std::string wanted = value.placeholder();
        const tf::AttrValue* bound = Find(*call.attrs, wanted);
        if (bound == nullptr) {
          Throw(Code::kInvalidArgument,
                "function '{}' wants the attribute '{}', which its call does not give",
                function.signature().name(), wanted);
        }
        value = *bound;
      }
      if (name != "_class") continue;
      for (std::string& group : *value.mutable_list()->mutable_s()) {
        constexpr std::string_view kPrefix = "loc:@";
        if (group.starts_with(kPrefix)) group = "loc:@" + below + "/" + group.substr(kPrefix.size());
      }
    }
  }

  // The input of the new graph for one of a body: "ARGUMENT", "NODE:OUTPUT:NUMBER" or "^NODE".
  std::string Resolve(const tf::NodeDef& caller, const tf::FunctionDef& function,
                      const std::unordered_map<std::string, std::string>& arguments,
                      const std::unordered_map<std::string, const tf::NodeDef*>& nodes,
                      const std::string& below, const std::string& input) const {
    const bool control = input.starts_with('^');
    const size_t first = input.find(':');
    const std::string node_name = input.substr(control ? 1 : 0, control ? std::string::npos : first);
    if (const auto argument = arguments.find(node_name);
        argument != arguments.end() && !nodes.contains(node_name)) {
      return control ? "^" + NodeOf(argument->second) : argument->second;
    }
    const auto found = nodes.find(node_name);
    if (found == nodes.end()) {
      Throw(Code::kInvalidArgument, "node '{}': function '{}' has no node or argument '{}'", caller.name(),
            function.signature().name(), node_name);
    }
    const std::string name = below + "/" + node_name;
    if (control) return "^" + name;
    if (first == std::string::npos) return name;
    const size_t second = input.find(':', first + 1);
    const std::string output =
        input.substr(first + 1, second == std::string::npos ? second : second - first - 1);
    size_t number = 0;
    if (second != std::string::npos) {
      const char* end = input.data() + input.size();
      const auto parsed = std::from_chars(input.data() + second + 1, end, number);
      if (parsed.ec != std::errc() || parsed.ptr != end) {
        Throw(Code::kInvalidArgument, "function '{}': '{}' is not of the form NODE:OUTPUT:NUMBER",
              function.signature().name(), input);
      }
    }
    return OutputName(name, FirstOf(*found->second, output, function) + number);
  }

  static std::string NodeOf(const std::string& input) { return input.substr(0, input.find(':')); }
  static std::string OutputName(const std::string& node, size_t output) {
    return output == 0 ? node : node + ":" + std::to_string(output);
  }

  // The number of the first tensor of a node's output with this name.
  size_t FirstOf(const tf::NodeDef& node, const std::string& output, const tf::FunctionDef& function) const {
    if (const auto called = functions_.find(node.op()); called != functions_.end()) {
      const auto& outputs = called->second->signature().output_arg();
      const auto found = std::ranges::find(outputs, output, [](const auto& arg) { return arg.name(); });
      if (found != outputs.end()) return static_cast<size_t>(found - outputs.begin());
    } else if (const OpDef* def = SignatureOf(node.op())) {
      size_t first = 0;
      for (const ArgDef& arg : def->outputs) {
        if (arg.name == output) return first;
        first += CountOf(node, arg);
      }
    } else {
      return 0;  // of an op that nobody knows
    }
    Throw(Code::kInvalidArgument, "function '{}': node '{}' ({}) has no output '{}'",
          function.signature().name(), node.name(), node.op(), output);
  }

  static size_t CountOf(const tf::NodeDef& node, const ArgDef& arg) {
    if (!arg.number_attr.empty()) {
      const tf::AttrValue* count = Find(node.attr(), arg.number_attr);
      if (count != nullptr && count->i() >= 0) return static_cast<size_t>(count->i());
    }
    if (!arg.type_list_attr.empty()) {
      const tf::AttrValue* types = Find(node.attr(), arg.type_list_attr);
      if (types != nullptr) return static_cast<size_t>(types->list().type_size());
    }
    return 1;
  }

  static std::vector<std::string> DataInputs(const tf::NodeDef& node) {
    std::vector<std::string> inputs;
    for (const std::string& input : node.input()) {
      if (!input.starts_with('^')) inputs.push_back(input);
    }
    return inputs;
  }

  // The device that the node asks for, or else the call.
  static std::string DeviceOf(const std::string& own, const std::string& caller) {
    DeviceName device, outer;
    if (own.empty()) return caller;
    if (caller.empty() || !ParseDeviceName(own, &device) || !ParseDeviceName(caller, &outer)) return own;
    if (!device.has_job) device.has_job = outer.has_job, device.job = outer.job;
    if (!device.has_replica) device.has_replica = outer.has_replica, device.replica = outer.replica;
    if (!device.has_task) device.has_task = outer.has_task, device.task = outer.task;
    if (!device.has_type) device.has_type = outer.has_type, device.type = outer.type;
    if (!device.has_id) device.has_id = outer.has_id, device.id = outer.id;
    return device.ToString();
  }

  static tf::AttrValue OutputType(const tf::NodeDef& node, const Call& call, size_t output) {
    tf::AttrValue value;
    const tf::OpDef::ArgDef& arg = call.function->signature().output_arg(static_cast<int>(output));
    const tf::AttrValue* types = Find(node.attr(), "Tout");
    if (types != nullptr && static_cast<int>(output) < types->list().type_size()) {
      value.set_type(types->list().type(static_cast<int>(output)));
    } else if (const tf::AttrValue* bound = Find(*call.attrs, arg.type_attr())) {
      value.set_type(bound->type());
    } else {
      value.set_type(arg.type());
    }
    return value;
  }

  // The node that keeps the call's name.
  void Finish(const tf::NodeDef& node, const Call& call, const std::vector<std::string>& outputs,
              const std::set<std::string>& effects) {
    tf::NodeDef* last = out_->add_node();
    last->set_name(node.name());
    last->set_device(node.device());
    last->set_op(outputs.empty() ? "NoOp" : outputs.size() == 1 ? "Identity" : "IdentityN");
    for (size_t i = 0; i < outputs.size(); ++i) {
      last->add_input(outputs[i]);
      const tf::AttrValue type = OutputType(node, call, i);
      if (outputs.size() == 1) {
        (*last->mutable_attr())["T"] = type;
      } else {
        (*last->mutable_attr())["T"].mutable_list()->add_type(type.type());
      }
    }
    for (const std::string& effect : effects) last->add_input(effect);
    if (!effects.empty()) return;
    for (const std::string& input : node.input()) {
      if (input.starts_with('^')) last->add_input(input);
    }
  }

  // Users of calls take their inputs from what makes them.
  void Reconnect(tf::NodeDef* node) const {
    for (std::string& input : *node->mutable_input()) {
      if (input.starts_with('^')) continue;
      std::string key = input.ends_with(":0") ? input.substr(0, input.size() - 2) : input;
      size_t steps = 0;
      for (auto found = sources_.find(key); found != sources_.end(); found = sources_.find(key)) {
        if (++steps > sources_.size()) {
          Throw(Code::kInvalidArgument, "node '{}' takes the output of a call that gives itself back",
                node->name());
        }
        input = key = found->second;
      }
    }
  }

  tf::GraphDef* out_;
  Functions functions_;
  std::unordered_map<std::string, std::string> sources_;  // by a call's output
};

}  // namespace

bool InlineCalls(const tf::FunctionDefLibrary& library, const tf::GraphDef& graph, tf::GraphDef* out) {
  Inliner inliner(library, out);
  if (!inliner.HasCalls(graph)) return false;
  inliner.Run(graph);
  return true;
}

}  // namespace lanescope
