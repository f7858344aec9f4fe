// SPDX-License-Identifier: Apache-2.0
// Makes the commands of a step from its nodes, in topological order: launches, the copies that their inputs
// need, and what each of them waits for.

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/place/colocation_rules.h"
#include "core/schedule/compile/completion.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/host_arguments.h"
#include "core/schedule/compile/tensor_places.h"

namespace lanescope::compile {
namespace {

class Partitioner {
 public:
  explicit Partitioner(Draft* draft)
      : draft_(*draft),
        host_(CallersHost(draft->request, draft->machine)),
        completion_(draft->graph.num_nodes()),
        places_(draft, &completion_),
        host_table_(draft) {
    const size_t expected = 2 * draft_.order.size();
    draft_.commands.reserve(expected);
    draft_.operands.reserve(2 * expected);
    draft_.dependencies.Reserve(expected, 2 * expected);
  }

  void Run() {
    for (const auto& [endpoint, info] : draft_.request.feeds) {
      draft_.feeds.push_back(places_.NewValue(endpoint, host_, info, Storage::kFeed));
      places_.SetBase(endpoint, draft_.feeds.back());
    }
    for (const NodeId id : draft_.order) {
      StopPoint();
      AddNode(id);
    }
    for (const Endpoint& fetch : draft_.request.fetches) {
      if (fetch.output >= 0) draft_.fetches.push_back(places_.Fetched(fetch));
    }
  }

 private:
  void AddNode(NodeId id) {
    if (draft_.has_fed_output[id] && AllOutputsFed(id)) return;
    const OpTraits& op = draft_.op(id);
    if (op.op_class == OpClass::kPlaceholder) {
      Throw(Code::kInvalidArgument,
            "You must feed a value for placeholder tensor '{}' with dtype {} and shape {}",
            draft_.node(id).name, DataTypeName(draft_.info.of({id, 0}).dtype),
            draft_.info.of({id, 0}).shape.ToString());
    }
    if (draft_.IsFolded(id)) return AddFolded(id);
    const DeviceId device = draft_.device_of(id);
    LANESCOPE_CHECK(device.exists());
    if (op.op_class == OpClass::kConst) return AddConstant(id, device);
    if (op.IsVariable() || IsTable(id, op)) return AddState(id, op.IsVariable(), device);
    if (op.op_class == OpClass::kNoOp) return AddBarrier(id);
    FindHostArguments(id, op, device);
    FindInputs(id, device);
    FindDependencies(draft_.node(id));
    if (IsAlias(id, op, device)) return AddAlias(id, device);
    AddLaunch(id, op, device);
  }

  // A lookup table, queue or other resource. Of an op without a definition: what yields nothing but a handle.
  bool IsTable(NodeId id, const OpTraits& op) const {
    const Node& node = draft_.node(id);
    if (!node.inputs.empty()) return false;
    if (op.def != nullptr) return op.def->role == StateRole::kTable;
    return IsStateGenerator(node, OpRegistry::Global());
  }

  bool AllOutputsFed(NodeId id) const {
    const auto outputs = static_cast<int>(draft_.info.outputs(id).size());
    for (int k = 0; k < outputs; ++k) {
      if (!draft_.IsFed({id, k})) return false;
    }
    return outputs > 0;
  }

  void FindHostArguments(NodeId id, const OpTraits& op, DeviceId device) {
    host_arguments_ = &kNoHostArguments;
    if (!op.has_host_arguments || !draft_.machine.device(device).is_gpu()) return;
    types_.clear();
    for (const Endpoint& input : draft_.node(id).inputs) types_.push_back(places_.TypeOf(input));
    host_arguments_ = &host_table_.OnGpu(id, types_);
  }

  static bool IsOnHost(const std::vector<bool>& flags, size_t i, DataType dtype) {
    return LivesOnHost(dtype) || (i < flags.size() && flags[i]);
  }
  DeviceId HostOf(DeviceId device) const { return draft_.tasks.host_of[device]; }
  DeviceId OutputDevice(size_t output, DataType dtype, DeviceId device) const {
    return IsOnHost(host_arguments_->outputs, output, dtype) ? HostOf(device) : device;
  }

  // The values that the node reads, in inputs_. A handle is read where its variable or table is, but a
  // variable must be on the node's own device.
  void FindInputs(NodeId id, DeviceId device) {
    inputs_.clear();
    for (const Endpoint& input : draft_.node(id).inputs) {
      const ValueId base = places_.Base(input);
      const Value& value = draft_.value(base);
      if (value.storage == Storage::kResource) {
        if (value.variable.exists() && draft_.op(value.variable).IsVariable()) places_.On(input, device, id);
        inputs_.push_back(base);
      } else {
        const DeviceId wanted =
            IsOnHost(host_arguments_->inputs, inputs_.size(), value.dtype) ? HostOf(device) : device;
        inputs_.push_back(value.device == wanted ? base : places_.On(input, wanted, id));
      }
    }
  }

  // The commands that the node must wait for by its data and control edges, in after_: ascending, without
  // repeats.
  void FindDependencies(const Node& node) {
    after_.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId value = i < inputs_.size() ? inputs_[i] : ValueId();
      const CommandId producer = value.exists() ? draft_.producer[value] : CommandId();
      if (producer.exists() && draft_.command(producer).kind == CommandKind::kCopy) {
        after_.push_back(producer);
      } else if (!draft_.IsFed(node.inputs[i])) {
        AwaitNode(node.inputs[i].node);
      }
    }
    AwaitControlInputs(node);
  }
  void AwaitControlInputs(const Node& node) {
    for (const NodeId control : node.control_inputs) AwaitNode(control);
    if (after_.size() < 2) return;
    std::sort(after_.begin(), after_.end());
    after_.erase(std::unique(after_.begin(), after_.end()), after_.end());
  }
  void AwaitNode(NodeId node) {
    const auto commands = completion_.Of(node);
    after_.insert(after_.end(), commands.begin(), commands.end());
  }

  void AddConstant(NodeId id, DeviceId device) {
    TensorInfo constant = draft_.info.of({id, 0});
    const bool host = LivesOnHost(constant.dtype) || IsReplicated(constant.dtype);
    if (constant.value == nullptr) {
      constant.value = std::make_shared<const Tensor>(draft_.node(id).GetTensorAttr("value"));
    }
    constant.shape = constant.value->shape();
    places_.SetBase({id, 0}, places_.NewConstant({id, 0}, host ? HostOf(device) : device, constant));
    AddFolded(id);
  }

  // Its value is there from the start, but who reads it waits for what it waits for: TensorFlow orders the
  // increment of a global step after the updates so.
  void AddFolded(NodeId id) {
    after_.clear();
    for (const Endpoint& input : draft_.node(id).inputs) {
      if (draft_.IsKnown(input) && !draft_.IsFed(input)) AwaitNode(input.node);
    }
    AwaitControlInputs(draft_.node(id));
    completion_.Set(id, after_);
  }

  void AddState(NodeId id, bool variable, DeviceId device) {
    const TensorInfo& info = draft_.info.of({id, 0});
    const bool handle = RemoveRef(info.dtype) == DataType::kResource || !variable;
    const ValueId value =
        places_.NewValue({id, 0}, device, info, handle ? Storage::kResource : Storage::kVariable);
    draft_.value(value).variable = id;
    if (variable) draft_.variables.emplace_back(id, device);
    places_.SetBase({id, 0}, value);
  }

  // A node without work: whoever waits for it waits for what it waits for. A barrier of many on both sides is
  // worth a command, if it was written as one.
  void AddBarrier(NodeId id) {
    inputs_.clear();
    FindDependencies(draft_.node(id));
    if (after_.size() > 8 && draft_.node(id).op == "NoOp") {
      NewLaunch(id, 0);
    } else {
      completion_.Set(id, after_);
    }
  }

  // A launch that reads inputs_, waits for after_ and completes the node.
  CommandId NewLaunch(NodeId id, size_t num_outputs) {
    const CommandId number = draft_.AddLaunch(id, inputs_, static_cast<int>(num_outputs));
    for (const CommandId before : after_) draft_.dependencies.Add(number, before);
    completion_.Set(id, {&number, 1});
    return number;
  }

  // Whether the node's output is its first input under another shape, or a variable's own memory.
  bool IsAlias(NodeId id, const OpTraits& op, DeviceId device) const {
    if (op.op_class == OpClass::kReadVariable) return op.def != nullptr;
    if (op.def == nullptr || op.def->alias != AliasRule::kInput0) return false;
    const Value& input = draft_.value(inputs_[0]);
    if (input.device != OutputDevice(0, input.dtype, device)) return false;
    // With a bounded shape only ops that keep the shape can do without running: the actual size is the
    // input's, and whether it fits is known in the step alone.
    return op.keeps_shape || (draft_.info.of({id, 0}).shape.IsExact() && input.shape.IsExact());
  }

  void AddAlias(NodeId id, DeviceId device) {
    const TensorInfo& info = draft_.info.of({id, 0});
    const ValueId from = inputs_[0];
    const bool read = draft_.value(from).storage == Storage::kResource;
    const ValueId number =
        places_.NewValue({id, 0}, draft_.value(from).device, info, draft_.value(from).storage);
    Value& alias = draft_.value(number);
    const Value& source = draft_.value(from);
    if (read) {
      if (alias.device != device) {
        Throw(Code::kInvalidArgument,
              "variable '{}' is on {} but '{}' reads it on {}; they must share a device",
              draft_.node(source.variable).name, draft_.machine.device(alias.device).local_name(),
              draft_.node(id).name, draft_.machine.device(device).local_name());
      }
      alias.storage = Storage::kVariable;
      alias.bytes = BytesOf(info);
      draft_.reads.push_back({number, after_});
    } else {
      alias.alias_of = from;
      alias.constant = source.constant;
    }
    alias.variable = source.variable;
    if (!alias.shape.HasBound()) alias.shape = source.shape;
    completion_.Set(id, after_);
    places_.SetBase({id, 0}, number);
  }

  void AddLaunch(NodeId id, const OpTraits& op, DeviceId device) {
    const auto outputs = draft_.info.outputs(id);
    const CommandId number = NewLaunch(id, outputs.size());
    const auto types = op.IsUpdate() ? OutputTypes(draft_.node(id)) : std::vector<DataType>();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Endpoint endpoint{id, static_cast<int>(k)};
      const bool fed = draft_.IsFed(endpoint);
      const bool updated = !fed && op.IsUpdate() && IsRefType(types[k]) && ReadsVariable();
      const ValueId value = updated ? NewUpdatedVariable(endpoint, outputs[k])
                                    : places_.NewValue(endpoint, OutputDevice(k, outputs[k].dtype, device),
                                                       outputs[k], Storage::kPlanned);
      draft_.producer[value] = number;
      // The value that a feed replaces is computed, but nobody reads it.
      if (!fed) places_.SetBase(endpoint, value);
      draft_.operands.push_back(value);
    }
  }

  // A reference may come from an op of which nothing is known.
  bool ReadsVariable() const {
    return !inputs_.empty() && draft_.value(draft_.Root(inputs_[0])).storage == Storage::kVariable;
  }

  // The reference that an update returns: the variable itself, under the update's name.
  ValueId NewUpdatedVariable(Endpoint endpoint, const TensorInfo& info) {
    const Value& variable = draft_.value(inputs_[0]);
    const ValueId number = places_.NewValue(endpoint, variable.device, info, Storage::kVariable);
    draft_.value(number).variable = draft_.value(inputs_[0]).variable;
    draft_.value(number).alias_of = inputs_[0];
    return number;
  }

  Draft& draft_;
  const DeviceId host_;
  Completion completion_;
  TensorPlaces places_;
  HostArgumentsTable host_table_;
  // Values of the current node; kept for their memory.
  std::vector<ValueId> inputs_;
  std::vector<CommandId> after_;
  std::vector<DataType> types_;
  const HostArguments* host_arguments_ = &kNoHostArguments;
};

}  // namespace

void Partition(Draft* draft) { Partitioner(draft).Run(); }

}  // namespace lanescope::compile
