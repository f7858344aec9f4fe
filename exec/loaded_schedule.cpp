#include "exec/loaded_schedule.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/error.h"
#include "core/op.h"
#include "exec/cuda/stream_program.h"
#include "exec/pacer.h"

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

// The new value of a variable that its producer writes in place.
bool WrittenByACommand(const Schedule& schedule, int value) {
  return std::any_of(schedule.commands.begin(), schedule.commands.end(), [&](const Command& command) {
    const auto outputs = schedule.Outputs(command);
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  });
}

// Of the device's team, while a command computes.
class WorkerInUse {
 public:
  explicit WorkerInUse(WorkerTeam* team) : team_(team) { team_->Enter(); }
  ~WorkerInUse() { team_->Leave(); }
  WorkerInUse(const WorkerInUse&) = delete;
  WorkerInUse& operator=(const WorkerInUse&) = delete;

 private:
  WorkerTeam* team_;
};

int64_t ByteCount(const TensorRef& tensor) {
  return tensor.NumElements() * static_cast<int64_t>(ElementSize(tensor.dtype));
}

void CopyStrings(const TensorRef& from, const TensorRef& to) {
  std::copy_n(from.as<std::string>(), from.NumElements(), to.as<std::string>());
}

}  // namespace

Resource& LaunchContext::FindOrCreateResource(int input,
                                              const std::function<std::unique_ptr<Resource>()>& create) {
  const int node = input < 0 ? node_ : handles_[static_cast<size_t>(input)];
  LANESCOPE_CHECK(node >= 0);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  auto& resource = state_->resources[node];
  if (resource == nullptr) resource = create();
  return *resource;
}

LoadedSchedule::LoadedSchedule(const Graph& graph, const Machine& machine,
                               std::shared_ptr<const Schedule> schedule,
                               const std::vector<std::unique_ptr<Device>>& devices, SessionState* state,
                               bool cuda_graphs)
    : graph_(graph), schedule_(std::move(schedule)), devices_(devices), state_(state), host_(machine.host()) {
  RequireKernels();
  RequireSizes();
  AddVariables();
  LoadConstants();
  commands_ = std::vector<LoadedCommand>(schedule_->commands.size());
  shapes_.resize(schedule_->values.size());
  for (size_t c = 0; c < commands_.size(); ++c) {
    const CommandKind kind = schedule_->commands[c].kind;
    if (kind == CommandKind::kLaunch) LoadLaunch(static_cast<int>(c));
    if (kind == CommandKind::kCopy) LoadCopy(static_cast<int>(c), machine);
  }
  LoadStreams(cuda_graphs);
}

void LoadedSchedule::RequireKernels() const {
  std::map<std::string, int> missing;
  for (size_t c = 0; c < schedule_->commands.size(); ++c) {
    if (schedule_->commands[c].kind != CommandKind::kLaunch) continue;
    const std::string& op = graph_.node(schedule_->commands[c].node).op;
    const KernelRegistry& kernels = KernelsFor(static_cast<int>(c));
    if (kernels.Has(op)) continue;
    ++missing[&kernels == &KernelRegistry::Host() ? op : op + " on CUDA"];
  }
  if (!missing.empty()) {
    std::string list;
    for (const auto& [op, count] : missing)
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", op, count);
    Throw(Code::kUnimplemented, "no kernel here for {}; such a graph can be placed and simulated, not run",
          list);
  }
}

// What nobody knows the size of has no memory planned.
void LoadedSchedule::RequireSizes() const {
  std::set<std::pair<int, int>> fed;
  for (const int feed : schedule_->feeds) {
    const Endpoint source = schedule_->values[static_cast<size_t>(feed)].source;
    fed.emplace(source.node, source.output);
  }
  for (const Value& value : schedule_->values) {
    if (value.storage != Storage::kPlanned || value.alias_of >= 0 || value.shape.HasBound() ||
        value.dtype == DataType::kResource || fed.contains({value.source.node, value.source.output}))
      continue;
    Throw(Code::kInvalidArgument,
          "the size of '{}' ({}{}) is not known when the step is compiled; feed tensors of fixed shape",
          graph_.TensorName(value.source), DataTypeName(value.dtype), value.shape.ToString());
  }
}

void LoadedSchedule::AddVariables() {
  for (const auto& [node, device] : schedule_->variables) {
    if (state_->variables.contains(node)) continue;
    const Node& variable = graph_.node(node);
    const DataType dtype = RemoveRef(variable.TypeAttr("dtype"));
    const Shape shape = variable.GetShapeAttr("shape");
    if (!shape.IsExact())
      Throw(Code::kUnimplemented, "variable '{}' has no fixed shape ({})", variable.name, shape.ToString());
    if (ElementSize(dtype) == 0)
      Throw(Code::kUnimplemented, "variable '{}' of {} cannot run here", variable.name, DataTypeName(dtype));
    TensorRef tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.capacity_bytes = ByteCount(tensor);
    tensor.data = devices_[static_cast<size_t>(device)]->Allocate(tensor.capacity_bytes);
    state_->variables[node] = {{tensor, false}, device};
  }
}

void LoadedSchedule::LoadConstants() {
  constants_.assign(schedule_->values.size(), nullptr);
  std::map<int, int64_t> bytes;
  const auto padded = [](int64_t n) { return (n + 255) / 256 * 256; };
  const auto own = [](const Value& v) {
    return v.storage == Storage::kConstant && v.alias_of < 0 && v.dtype != DataType::kString;
  };
  for (const Value& value : schedule_->values) {
    if (own(value)) bytes[value.device] += padded(value.constant->ByteSize());
  }
  std::map<int, std::byte*> next;
  for (const auto& [device, total] : bytes) {
    Device* owner = devices_[static_cast<size_t>(device)].get();
    constant_blocks_.emplace_back(owner->Allocate(total), FreeOnDevice{owner});
    next[device] = static_cast<std::byte*>(constant_blocks_.back().get());
  }
  for (size_t v = 0; v < constants_.size(); ++v) {
    const Value& value = schedule_->values[v];
    if (value.storage != Storage::kConstant || value.alias_of >= 0) continue;
    if (value.dtype == DataType::kString) {
      constants_[v] = const_cast<void*>(value.constant->raw_data());  // only read
      continue;
    }
    std::byte*& at = next[value.device];
    devices_[static_cast<size_t>(value.device)]->Upload(at, value.constant->raw_data(),
                                                        value.constant->ByteSize());
    constants_[v] = at;
    at += padded(value.constant->ByteSize());
  }
}

void LoadedSchedule::LoadLaunch(int number) {
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  const Node& node = graph_.node(command.node);
  LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  const cuda::StreamRole role = RoleOf(number);
  loaded.kernel = KernelsFor(number).Create(node);
  LaunchContext& context = loaded.context;
  context.state_ = state_;
  context.node_ = command.node;
  context.random_counter_ = &state_->random_counters[command.node];
  context.session_seed_ = state_->seed;
  context.inputs_.resize(static_cast<size_t>(command.num_inputs));
  context.outputs_.resize(static_cast<size_t>(command.num_outputs));
  context.variables_.assign(static_cast<size_t>(command.num_inputs), nullptr);
  context.handles_.assign(static_cast<size_t>(command.num_inputs), -1);
  const int device = schedule_->queues[static_cast<size_t>(command.queue)].device;
  context.team_ = &devices_[static_cast<size_t>(device)]->team();
  if (role == cuda::StreamRole::kKernel)
    context.stream_context_ = devices_[static_cast<size_t>(device)]->AsCuda()->launch();
  const auto inputs = schedule_->Inputs(command);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = schedule_->values[static_cast<size_t>(inputs[i])];
    const Value& root = schedule_->RootValue(inputs[i]);
    if (!value.shape.IsExact()) loaded.dynamic = true;
    context.handles_[i] = root.variable;
    if (root.variable < 0 || !IsVariableNode(graph_.node(root.variable))) continue;
    Variable* variable = &state_->variables.at(root.variable).variable;
    context.variables_[i] = variable;
    const bool replaced = node.op == "Assign" || node.op == "AssignVariableOp";
    if (replaced && i > 0 && WrittenByACommand(*schedule_, inputs[i])) continue;
    if (!AcceptsUninitialized(node.op) || (replaced && i > 0)) {
      loaded.must_be_initialized.emplace_back(variable, &graph_.node(root.variable).name);
    }
  }
  for (const int output : schedule_->Outputs(command)) {
    if (!schedule_->values[static_cast<size_t>(output)].shape.IsExact()) loaded.dynamic = true;
  }
}

void LoadedSchedule::LoadCopy(int number, const Machine& machine) {
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  loaded.context.inputs_.resize(1);
  loaded.context.outputs_.resize(1);
  const int src = schedule_->CopySource(command), dst = schedule_->CopyDestination(command);
  if (src != dst) loaded.route = machine.RouteBetween(src, dst);
  const Value& source = schedule_->values[static_cast<size_t>(schedule_->Inputs(command)[0])];
  const Value& root = schedule_->RootValue(schedule_->Inputs(command)[0]);
  loaded.dynamic = !source.shape.IsExact();
  if (root.variable >= 0 && IsVariableNode(graph_.node(root.variable))) {
    loaded.must_be_initialized.emplace_back(&state_->variables.at(root.variable).variable,
                                            &graph_.node(root.variable).name);
  }
}

TensorRef LoadedSchedule::Locate(int number) const {
  const Value& value = schedule_->values[static_cast<size_t>(number)];
  const int root_number = schedule_->Root(number);
  const Value& root = schedule_->values[static_cast<size_t>(root_number)];
  TensorRef tensor;
  tensor.dtype = value.dtype;
  tensor.shape = value.shape.IsExact() ? value.shape : Shape::Unknown();
  switch (root.storage) {
    case Storage::kPlanned: {
      if (root.buffer < 0) break;
      const Buffer& buffer = schedule_->buffers[static_cast<size_t>(root.buffer)];
      if (buffer.strings) {
        auto& strings = const_cast<LoadedSchedule*>(this)->strings_[root.buffer];
        const auto elements = static_cast<size_t>(std::max<int64_t>(0, root.shape.NumElements()));
        if (strings.size() < elements) strings.resize(elements);
        tensor.data = strings.data();
        tensor.capacity_bytes = static_cast<int64_t>(strings.size() * sizeof(std::string));
      } else {
        tensor.data = arenas_[static_cast<size_t>(buffer.device)] + buffer.offset;
        tensor.capacity_bytes = buffer.bytes;
      }
      break;
    }
    case Storage::kConstant:
      tensor.data = constants_[static_cast<size_t>(root_number)];
      tensor.capacity_bytes = root.bytes;
      break;
    case Storage::kVariable: {
      const Variable& variable = state_->variables.at(root.variable).variable;
      tensor.data = variable.tensor.data;
      tensor.capacity_bytes = variable.tensor.capacity_bytes;
      break;
    }
    case Storage::kFeed:
    case Storage::kResource:
      break;
  }
  return tensor;
}

void LoadedSchedule::Bind(const std::vector<std::byte*>& arenas) {
  arenas_ = arenas;
  feed_uses_.clear();
  if (program_ != nullptr) program_->Forget();
  for (size_t c = 0; c < commands_.size(); ++c) {
    const Command& command = schedule_->commands[c];
    if (!command.is_work()) continue;
    LaunchContext& context = commands_[c].context;
    const auto inputs = schedule_->Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      context.inputs_[i] = Locate(inputs[i]);
      const auto feed =
          std::find(schedule_->feeds.begin(), schedule_->feeds.end(), schedule_->Root(inputs[i]));
      if (feed != schedule_->feeds.end()) {
        feed_uses_.push_back(
            {static_cast<int>(c), static_cast<int>(i), static_cast<int>(feed - schedule_->feeds.begin())});
      }
    }
    const auto outputs = schedule_->Outputs(command);
    for (size_t k = 0; k < outputs.size(); ++k) context.outputs_[k] = Locate(outputs[k]);
  }
}

void LoadedSchedule::SetFeeds(const std::vector<Tensor>& feeds) {
  feeds_ = feeds;
  for (const FeedUse& use : feed_uses_) {
    Tensor& tensor = feeds_[static_cast<size_t>(use.feed)];
    TensorRef& input =
        commands_[static_cast<size_t>(use.command)].context.inputs_[static_cast<size_t>(use.input)];
    input.data = tensor.raw_data();
    input.capacity_bytes = tensor.ByteSize();
  }
}

void LoadedSchedule::CheckInitialized(const LoadedCommand& loaded) const {
  for (const auto& [variable, name] : loaded.must_be_initialized) {
    if (!variable->initialized) {
      Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}; run the init targets first",
            *name);
    }
  }
}

// Gives operands of bounded shape the shape that they have in this step.
void LoadedSchedule::TakeShapes(int number) {
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  LaunchContext& context = commands_[static_cast<size_t>(number)].context;
  const auto inputs = schedule_->Inputs(command);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!schedule_->values[static_cast<size_t>(inputs[i])].shape.IsExact())
      context.inputs_[i].shape = shapes_[static_cast<size_t>(schedule_->Root(inputs[i]))];
  }
  const auto outputs = schedule_->Outputs(command);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!schedule_->values[static_cast<size_t>(outputs[k])].shape.IsExact())
      context.outputs_[k].shape = Shape::Unknown();
  }
}

void LoadedSchedule::KeepShapes(int number) {
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  const LaunchContext& context = commands_[static_cast<size_t>(number)].context;
  const auto outputs = schedule_->Outputs(command);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!schedule_->values[static_cast<size_t>(outputs[k])].shape.IsExact())
      shapes_[static_cast<size_t>(schedule_->Root(outputs[k]))] = context.outputs_[k].shape;
  }
}

int64_t LoadedSchedule::RunCommand(int number, Pacer* pacer, const std::atomic<bool>& cancelled) {
  if (program_ != nullptr && program_->IsStreamCommand(number)) {
    program_->Run(number);
    return program_->IsOnHost(number) ? 0 : kNotTimed;
  }
  try {
    if (program_ != nullptr) program_->Await(number);
    return RunOnHost(number, pacer, cancelled);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), Describe(number)));
  }
}

int64_t LoadedSchedule::RunOnHost(int number, Pacer* pacer, const std::atomic<bool>& cancelled) {
  switch (schedule_->commands[static_cast<size_t>(number)].kind) {
    case CommandKind::kLaunch:
      Compute(number);
      return 0;
    case CommandKind::kCopy:
      break;
    case CommandKind::kRecord:
    case CommandKind::kWait:
      return kNotTimed;
  }
  const LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  const cuda::CopyOperands copy = PrepareCopy(number);
  if (loaded.context.inputs_[0].dtype == DataType::kString) {
    CopyStrings(loaded.context.inputs_[0], loaded.context.outputs_[0]);
  } else if (loaded.route.has_value()) {
    pacer->Copy(*loaded.route, copy.to, copy.from, copy.bytes, cancelled);
  } else if (copy.bytes > 0) {
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
  }
  return copy.bytes;
}

void LoadedSchedule::Compute(int number) {
  LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  CheckInitialized(loaded);
  if (loaded.dynamic) TakeShapes(number);
  const WorkerInUse worker(&loaded.context.team());
  loaded.kernel->Compute(loaded.context);
  if (loaded.dynamic) KeepShapes(number);
}

cuda::CopyOperands LoadedSchedule::PrepareCopy(int number) {
  LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  CheckInitialized(loaded);
  if (loaded.dynamic) TakeShapes(number);
  const TensorRef& from = loaded.context.inputs_[0];
  TensorRef& to = loaded.context.outputs_[0];
  if (loaded.dynamic) {
    to.shape = from.shape;
    KeepShapes(number);
  }
  return {to.data, from.data, from.dtype == DataType::kString ? 0 : ByteCount(from)};
}

std::string LoadedSchedule::Describe(int number) const {
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  const int device = schedule_->queues[static_cast<size_t>(command.queue)].device;
  const Node& node = graph_.node(command.node);
  return fmt::format("{} '{}' ({}) on {}", command.kind == CommandKind::kCopy ? "copy of node" : "node",
                     node.name, node.op, devices_[static_cast<size_t>(device)]->spec().local_name());
}

Tensor LoadedSchedule::Fetch(int index) const {
  const int number = schedule_->fetches[static_cast<size_t>(index)];
  const Value& value = schedule_->values[static_cast<size_t>(number)];
  const int root_number = schedule_->Root(number);
  const Value& root = schedule_->values[static_cast<size_t>(root_number)];
  if (root.storage == Storage::kFeed) {
    const auto feed =
        std::find(schedule_->feeds.begin(), schedule_->feeds.end(), root_number) - schedule_->feeds.begin();
    return feeds_[static_cast<size_t>(feed)].Reshaped(
        value.shape.IsExact() ? value.shape : feeds_[static_cast<size_t>(feed)].shape());
  }
  TensorRef source = Locate(number);
  if (!value.shape.IsExact()) source.shape = shapes_[static_cast<size_t>(root_number)];
  Tensor result(source.dtype, source.shape);
  if (source.dtype == DataType::kString) {
    std::copy_n(source.as<std::string>(), source.NumElements(), result.data<std::string>());
  } else if (result.ByteSize() > 0) {
    std::memcpy(result.raw_data(), source.data, static_cast<size_t>(result.ByteSize()));
  }
  return result;
}

}  // namespace lanescope::exec
