// SPDX-License-Identifier: Apache-2.0
#include "exec/run/schedule_loader.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/inputs/onnx_model.h"
#include "exec/device/stream_device.h"
#include "exec/resources/resource_name.h"
#include "exec/run/fused_kernel.h"

namespace lanescope::exec {
namespace {

// Ops that may meet a variable without a value.
bool AcceptsUninitialized(const std::string& op) {
  return op == "Assign" || op == "AssignVariableOp" || op == "IsVariableInitialized" ||
         op == "VarIsInitializedOp" || op == "DestroyResourceOp";
}

bool IsVariableNode(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  return def != nullptr && def->role == StateRole::kVariable;
}

// Both sides of a branch run, and one of them may read what the condition says is not there: "the variable,
// if it is initialized, or else its first value".
bool IsChosenIfInitialized(const Graph& graph, const Node& node, NodeId variable) {
  if (node.op != "Select" || node.inputs.empty()) return false;
  const auto source = [&graph](Endpoint e) {
    while (graph.node(e.node).op == "Identity" && !graph.node(e.node).inputs.empty())
      e = graph.node(e.node).inputs[0];
    return e.node;
  };
  const Node& condition = graph.node(source(node.inputs[0]));
  const bool asks = condition.op == "IsVariableInitialized" || condition.op == "VarIsInitializedOp";
  return asks && !condition.inputs.empty() && source(condition.inputs[0]) == variable;
}

// The new value of a variable that its producer writes in place.
bool WrittenByACommand(const Schedule& schedule, ValueId value) {
  return std::any_of(schedule.commands.begin(), schedule.commands.end(), [&](const Command& command) {
    const auto outputs = schedule.Outputs(command);
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  });
}

// Ops of tf.data, which make datasets of files and functions, and iterators over them that steps read.
bool IsOfDataset(std::string_view op) {
  return op.find("Dataset") != std::string_view::npos || op.find("Iterator") != std::string_view::npos;
}

class ScheduleLoader {
 public:
  ScheduleLoader(const Graph& graph, const Machine& machine, const Schedule& schedule,
                 const CommandRoles& roles, const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                 SessionState* state)
      : graph_(graph),
        machine_(machine),
        schedule_(schedule),
        roles_(roles),
        devices_(devices),
        state_(state) {}

  IdVector<CommandId, LoadedCommand> Load() {
    RequireKernels();
    RequireSizes();
    AddVariables();
    IdVector<CommandId, LoadedCommand> commands(schedule_.commands.size());
    for (const CommandId c : commands.ids()) {
      const CommandKind kind = schedule_.commands[c].kind;
      if (kind == CommandKind::kLaunch) LoadLaunch(c, &commands[c]);
      if (kind == CommandKind::kCopy) LoadCopy(schedule_.commands[c], &commands[c]);
    }
    return commands;
  }

 private:
  const Value& value(ValueId id) const { return schedule_.values[id]; }

  using OpCounts = std::map<std::string, int>;

  static std::string ListOf(const OpCounts& ops) {
    std::string list;
    for (const auto& [op, count] : ops) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", op, count);
    return list;
  }

  // An op that could be read as ops with kernels if the shape of what it reads were known.
  bool LacksOnlyShapes(const Command& command) const {
    const auto inputs = schedule_.Inputs(command);
    return ReadsByShape(graph_.node(command.node).op) && std::ranges::any_of(inputs, [&](ValueId input) {
             return input.exists() && !value(input).shape.HasBound();
           });
  }

  void RequireKernels() const {
    OpCounts missing, shapeless;
    for (const CommandId c : schedule_.commands.ids()) {
      if (schedule_.commands[c].kind != CommandKind::kLaunch || roles_.RoleOf(c) == StreamRole::kJoint)
        continue;
      const KernelRegistry& kernels = roles_.KernelsFor(c);
      schedule_.ForNodes(schedule_.commands[c], [&](NodeId node) {
        const std::string& op = graph_.node(node).op;
        if (kernels.Has(op)) return;
        const bool on_host = &kernels == &KernelRegistry::Host();
        OpCounts& counts = LacksOnlyShapes(schedule_.commands[c]) ? shapeless : missing;
        ++counts[on_host ? op : op + " on " + roles_.QueueDevice(c).spec().parsed.type];
      });
    }
    if (missing.empty() && shapeless.empty()) return;
    RefuseDatasets();
    if (missing.empty()) {
      Throw(Code::kUnimplemented,
            "{} cannot be read without the shapes of inputs; give the model's inputs exact shapes, or place "
            "and "
            "simulate the graph without running it",
            ListOf(shapeless));
    }
    const std::string behind =
        shapeless.empty()
            ? ""
            : fmt::format("; {} behind that cannot be read without the shapes of inputs", ListOf(shapeless));
    Throw(Code::kUnimplemented, "no kernel here for {}{}; such a graph can be placed and simulated, not run",
          ListOf(missing), behind);
  }

  // Tensors of a dataset can be fed; the op that gives them is the first that is no dataset or iterator
  // itself.
  void RefuseDatasets() const {
    const Node* first = nullptr;
    for (const Command& command : schedule_.commands) {
      if (command.kind != CommandKind::kLaunch) continue;
      const Node& node = graph_.node(command.node);
      if (!IsOfDataset(node.op)) continue;
      if (first == nullptr) first = &node;
      const auto outputs = schedule_.Outputs(command);
      const bool gives = std::ranges::any_of(outputs, [&](ValueId output) {
        return output.exists() && value(output).dtype != DataType::kVariant &&
               value(output).dtype != DataType::kResource;
      });
      if (!gives) continue;
      Throw(Code::kUnimplemented,
            "node '{}' ({}) reads a tf.data dataset, which no kernel here does; feed '{}:0' and what else it "
            "gives (--feed, or `feeds` of the run configuration), or place and simulate the graph without "
            "running it",
            node.name, node.op, node.name);
    }
    if (first == nullptr) return;
    Throw(Code::kUnimplemented,
          "node '{}' ({}) is of a tf.data dataset, which no kernel here makes; leave it out of the step and "
          "feed the tensors that the model reads, or place and simulate the graph without running it",
          first->name, first->op);
  }

  // A tensor of unknown size has no memory planned: on the host it grows in the step.
  void RequireSizes() const {
    std::set<std::pair<NodeId, int>> fed;
    for (const ValueId feed : schedule_.feeds)
      fed.emplace(value(feed).source.node, value(feed).source.output);
    for (const Value& value : schedule_.values) {
      if (value.storage != Storage::kPlanned || value.alias_of.exists() || value.shape.HasBound() ||
          value.dtype == DataType::kResource || fed.contains({value.source.node, value.source.output}) ||
          devices_[value.device]->streams() == nullptr)
        continue;
      Throw(Code::kInvalidArgument,
            "the size of '{}' ({}{}) is not known when the step is compiled, which {} needs; feed tensors of "
            "fixed shape, or give it one (Reshape, queues with shapes)",
            graph_.TensorName(value.source), DataTypeName(value.dtype), value.shape.ToString(),
            devices_[value.device]->spec().local_name());
    }
  }

  void AddVariables() {
    for (const auto& [node, device] : schedule_.variables) {
      if (state_->variables.contains(node)) continue;
      const Node& variable = graph_.node(node);
      TensorRef tensor;
      tensor.dtype = RemoveRef(variable.TypeAttr("dtype"));
      tensor.shape = variable.GetShapeAttr("shape");
      if (!tensor.shape.IsExact())
        Throw(Code::kUnimplemented, "variable '{}' has no fixed shape ({})", variable.name,
              tensor.shape.ToString());
      const auto element = static_cast<int64_t>(ElementSize(tensor.dtype));
      if (element == 0)
        Throw(Code::kUnimplemented, "variable '{}' of {} cannot run here", variable.name,
              DataTypeName(tensor.dtype));
      tensor.capacity_bytes = tensor.NumElements() * element;
      state_->variables[node] = VariableOf(variable, device, tensor);
    }
  }

  // The session's own, or the one that all sessions have by this name.
  std::shared_ptr<SharedVariable> VariableOf(const Node& node, DeviceId device, const TensorRef& tensor) {
    const auto make = [&] { return std::make_shared<SharedVariable>(state_->device_set, device, tensor); };
    if (!state_->share_variables) return make();
    const ResourceName name = NameResource({.container = node.StringAttr("container", ""),
                                            .shared_name = node.StringAttr("shared_name", ""),
                                            .node_name = node.name,
                                            .use_node_name_as_default = true});
    auto found = state_->shared->LookupOrCreate<SharedVariable>(name.container, name.name, make);
    const TensorRef& there = found->variable.tensor;
    if (there.dtype == tensor.dtype && there.shape == tensor.shape && found->device() == device) return found;
    Throw(Code::kInvalidArgument, "variable '{}' is {}{} on {}, but another session keeps it as {}{} on {}",
          name.name, DataTypeName(tensor.dtype), tensor.shape.ToString(),
          machine_.device(device).local_name(), DataTypeName(there.dtype), there.shape.ToString(),
          machine_.device(found->device()).local_name());
  }

  void LoadLaunch(CommandId number, LoadedCommand* loaded) {
    const Command& command = schedule_.commands[number];
    const Node& node = graph_.node(command.node);
    Device& device = roles_.QueueDevice(number);
    if (command.fused >= 0) {
      loaded->kernel = roles_.RoleOf(number) == StreamRole::kKernel
                           ? device.streams()->MakeFusedKernel(graph_, schedule_, command)
                           : MakeFusedKernel(graph_, schedule_, command);
    } else if (roles_.RoleOf(number) != StreamRole::kJoint) {
      loaded->kernel = roles_.KernelsFor(number).Create(node);
    }
    if (roles_.RoleOf(number) == StreamRole::kNone)
      loaded->waiting = dynamic_cast<WaitingKernel*>(loaded->kernel.get());
    loaded->context =
        LaunchContext(state_, command.node, static_cast<size_t>(command.num_inputs),
                      static_cast<size_t>(command.num_outputs), &device.team(),
                      roles_.RoleOf(number) == StreamRole::kKernel ? device.streams()->launch() : nullptr);
    const auto inputs = schedule_.Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& root = schedule_.RootValue(inputs[i]);
      if (!value(inputs[i]).shape.IsExact()) loaded->dynamic = true;
      Variable* variable = VariableOf(root);
      loaded->context.SetState(i, root.variable, variable);
      if (variable == nullptr) continue;
      if (command.fused >= 0) {
        if (NeedsValue(command, static_cast<int>(i), root)) RequireInitialized(root, loaded);
        continue;
      }
      const bool replaced = node.op == "Assign" || node.op == "AssignVariableOp";
      if (replaced && i > 0 && WrittenByACommand(schedule_, inputs[i])) continue;
      if (i > 0 && IsChosenIfInitialized(graph_, node, root.variable)) continue;
      if (!AcceptsUninitialized(node.op) || (replaced && i > 0)) RequireInitialized(root, loaded);
    }
    for (const ValueId output : schedule_.Outputs(command)) {
      if (!value(output).shape.IsExact()) loaded->dynamic = true;
    }
  }

  // Whether some node of the launch reads the variable of its input.
  bool NeedsValue(const Command& command, int input, const Value& root) const {
    return std::ranges::any_of(schedule_.FusedNodes(command), [&](const FusedNode& member) {
      const Node& node = graph_.node(member.node);
      for (size_t k = 0; k < member.inputs.size(); ++k) {
        if (member.inputs[k] != input || (k == 0 && AcceptsUninitialized(node.op))) continue;
        if (k == 0 || !IsChosenIfInitialized(graph_, node, root.variable)) return true;
      }
      return false;
    });
  }

  void LoadCopy(const Command& command, LoadedCommand* loaded) {
    loaded->context = LaunchContext(1, 1);
    const DeviceId src = schedule_.CopySource(command), dst = schedule_.CopyDestination(command);
    if (src != dst) loaded->route = machine_.RouteBetween(src, dst);
    const ValueId source = schedule_.Inputs(command)[0];
    loaded->dynamic = !value(source).shape.IsExact();
    if (VariableOf(schedule_.RootValue(source)) != nullptr)
      RequireInitialized(schedule_.RootValue(source), loaded);
  }

  Variable* VariableOf(const Value& root) const {
    if (!root.variable.exists() || !IsVariableNode(graph_.node(root.variable))) return nullptr;
    return &state_->variables.at(root.variable)->variable;
  }

  void RequireInitialized(const Value& root, LoadedCommand* loaded) const {
    loaded->must_be_initialized.emplace_back(VariableOf(root), &graph_.node(root.variable).name);
  }

  const Graph& graph_;
  const Machine& machine_;
  const Schedule& schedule_;
  const CommandRoles& roles_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  SessionState* state_;
};

}  // namespace

ConstantMemory::ConstantMemory(const Schedule& schedule,
                               const IdVector<DeviceId, std::unique_ptr<Device>>& devices)
    : addresses_(schedule.values.size(), nullptr) {
  const auto padded = [](int64_t n) { return (n + 255) / 256 * 256; };
  const auto is_own = [](const Value& v) { return v.storage == Storage::kConstant && !v.alias_of.exists(); };
  std::map<DeviceId, int64_t> bytes;
  for (const Value& value : schedule.values) {
    if (is_own(value) && value.dtype != DataType::kString)
      bytes[value.device] += padded(value.constant->ByteSize());
  }
  std::map<DeviceId, std::byte*> next;
  for (const auto& [device, total] : bytes) {
    Device* owner = devices[device].get();
    blocks_.emplace_back(owner->Allocate(total), FreeOnDevice{owner});
    next[device] = static_cast<std::byte*>(blocks_.back().get());
  }
  for (const ValueId v : addresses_.ids()) {
    const Value& value = schedule.values[v];
    if (!is_own(value)) continue;
    if (value.dtype == DataType::kString) {
      addresses_[v] = const_cast<void*>(value.constant->raw_data());  // only read
      continue;
    }
    std::byte*& at = next[value.device];
    devices[value.device]->Upload(at, value.constant->raw_data(), value.constant->ByteSize());
    addresses_[v] = at;
    at += padded(value.constant->ByteSize());
  }
}

IdVector<CommandId, LoadedCommand> LoadCommands(const Graph& graph, const Machine& machine,
                                                const Schedule& schedule, const CommandRoles& roles,
                                                const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                                                SessionState* state) {
  return ScheduleLoader(graph, machine, schedule, roles, devices, state).Load();
}

}  // namespace lanescope::exec
