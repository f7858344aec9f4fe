#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/compile/draft.h"
#include "core/error.h"
#include "core/kernel_table.h"

namespace lanescope::compile {
namespace {

// Constants of these types are shape arithmetic: they are written wherever they are read, at no copy. Float
// constants are tensors like others: they live where they were placed and are copied from there (TensorFlow's
// partitioner does the same).
bool IsReplicated(DataType type) {
  return type == DataType::kInt32 || type == DataType::kInt64 || type == DataType::kBool;
}

bool LivesOnHost(DataType type) { return type == DataType::kString; }

std::string TensorDescription(const TensorInfo& info) {
  return fmt::format("{}{}", DataTypeName(info.dtype), info.shape.ToString());
}

class Partitioner {
 public:
  explicit Partitioner(Draft* draft) : draft_(*draft), host_(draft->machine.host()) {
    const int nodes = draft_.graph.num_nodes();
    first_.reserve(static_cast<size_t>(nodes) + 1);
    int total = 0;
    for (int id = 0; id < nodes; ++id) {
      first_.push_back(total);
      total += static_cast<int>(draft_.info.outputs(id).size());
    }
    first_.push_back(total);
    base_.assign(static_cast<size_t>(total), -1);
    done_.resize(static_cast<size_t>(nodes));
  }

  void Run() {
    AddFeeds();
    for (const int id : draft_.order) AddNode(id);
    for (const Endpoint& fetch : draft_.request.fetches) {
      if (fetch.output >= 0) draft_.fetches.push_back(FetchedValue(fetch));
    }
  }

 private:
  int& Base(Endpoint endpoint) {
    return base_[static_cast<size_t>(first_[static_cast<size_t>(endpoint.node)] + endpoint.output)];
  }

  int NewValue(Endpoint source, int device, const TensorInfo& info, Storage storage) {
    Value value;
    value.source = source;
    value.device = device;
    value.dtype = RemoveRef(info.dtype);
    value.shape = info.shape;
    value.storage = storage;
    value.bytes = storage == Storage::kResource ? 0 : BytesOf(info);
    draft_.values.push_back(std::move(value));
    draft_.producer.push_back(-1);
    next_place_.push_back(-1);
    return static_cast<int>(draft_.values.size()) - 1;
  }

  void AddFeeds() {
    for (const auto& [endpoint, info] : draft_.request.feeds) {
      const int value = NewValue(endpoint, host_, info, Storage::kFeed);
      Base(endpoint) = value;
      draft_.feeds.push_back(value);
    }
  }

  const std::vector<int>& Done(int node) const { return done_[static_cast<size_t>(node)]; }

  // The base value of a folded or constant endpoint, made at its first use.
  int ConstantValue(Endpoint endpoint, const TensorInfo& info, int device) {
    const int value = NewValue(endpoint, device, info, Storage::kConstant);
    draft_.value(value).constant = info.value;
    return value;
  }

  int BaseValue(Endpoint endpoint) {
    int& base = Base(endpoint);
    if (base < 0) {
      const TensorInfo& info = draft_.info.of(endpoint);
      LANESCOPE_CHECK(info.value != nullptr);
      base = ConstantValue(endpoint, info, host_);
    }
    return base;
  }

  // Of a variable's memory the version that `reader` reads, 0 for everything else.
  int Version(int value, int reader) const {
    const Value& root = draft_.value(draft_.Root(value));
    if (root.storage != Storage::kVariable) return 0;
    const bool read_op = root.source.node != root.variable;  // takes the value once, for all its users
    return draft_.VersionAt(read_op ? root.source.node : reader, root.variable);
  }

  int VersionOfPlace(int value) const {
    const int producer = draft_.producer[static_cast<size_t>(value)];
    return producer < 0 ? 0 : draft_.command(producer).version;
  }

  // The endpoint's tensor in the memory of `device`, as `reader` sees it; adds the one Copy that brings it
  // there.
  int ValueAt(Endpoint endpoint, int device, int reader) {
    int place = BaseValue(endpoint);
    if (draft_.value(place).device == device) return place;
    const int version = Version(place, reader);
    while (next_place_[static_cast<size_t>(place)] >= 0) {
      place = next_place_[static_cast<size_t>(place)];
      if (draft_.value(place).device == device && VersionOfPlace(place) == version) return place;
    }
    const int base = Base(endpoint);
    int value;
    if (draft_.value(base).storage == Storage::kConstant && IsReplicated(draft_.value(base).dtype)) {
      value = ConstantValue(endpoint, draft_.info.of(endpoint), device);
      draft_.value(value).constant = draft_.value(base).constant;
    } else {
      value = AddCopy(endpoint, base, device, version);
    }
    next_place_[static_cast<size_t>(place)] = value;
    return value;
  }

  int AddCopy(Endpoint endpoint, int from, int device, int version) {
    if (LivesOnHost(draft_.value(from).dtype) && device != host_) {
      Throw(Code::kInvalidArgument,
            "tensor '{}' has dtype {} and cannot be moved to {}; place its users on the CPU",
            draft_.graph.TensorName(endpoint), DataTypeName(draft_.value(from).dtype),
            draft_.machine.device(device).local_name());
    }
    if (draft_.value(from).storage == Storage::kResource) {
      Throw(Code::kInvalidArgument, "the resource '{}' is on {} but is used on {}; they must share a device",
            draft_.graph.TensorName(endpoint), draft_.machine.device(draft_.value(from).device).local_name(),
            draft_.machine.device(device).local_name());
    }
    if (draft_.value(from).device != device) draft_.machine.RouteBetween(draft_.value(from).device, device);
    TensorInfo info;
    info.dtype = draft_.value(from).dtype;
    info.shape = draft_.value(from).shape;
    const int value = NewValue(endpoint, device, info, Storage::kPlanned);
    DraftCommand copy;
    copy.kind = CommandKind::kCopy;
    copy.node = endpoint.node;
    copy.device = device;
    copy.inputs = {from};
    copy.outputs = {value};
    copy.version = version;
    if (!IsFed(endpoint)) copy.after = Done(endpoint.node);
    draft_.producer[static_cast<size_t>(value)] = static_cast<int>(draft_.commands.size());
    draft_.commands.push_back(std::move(copy));
    return value;
  }

  bool IsFed(Endpoint endpoint) {
    const int base = Base(endpoint);
    return base >= 0 && draft_.value(base).storage == Storage::kFeed;
  }

  int FetchedValue(Endpoint fetch) {
    const int base = BaseValue(fetch);
    const Storage storage = draft_.value(draft_.Root(base)).storage;
    if (storage == Storage::kResource) {
      Throw(Code::kInvalidArgument, "'{}' is a resource handle and cannot be fetched",
            draft_.graph.TensorName(fetch));
    }
    // A variable may change after the fetch: what is returned is a copy.
    if (storage == Storage::kVariable) return AddCopy(fetch, base, host_, FetchedVersion(fetch, base));
    return ValueAt(fetch, host_, fetch.node);
  }

  // An update's own result is the version that it makes.
  int FetchedVersion(Endpoint fetch, int base) const {
    const auto updates = draft_.updates.find(draft_.value(draft_.Root(base)).variable);
    if (updates != draft_.updates.end()) {
      const auto found = std::find(updates->second.begin(), updates->second.end(), fetch.node);
      if (found != updates->second.end()) return static_cast<int>(found - updates->second.begin()) + 1;
    }
    return Version(base, fetch.node);
  }

  // Commands that a node must wait for, by its data and control edges.
  std::vector<int> Dependencies(const Node& node, const std::vector<int>& input_values) {
    std::vector<int> after;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = i < input_values.size() ? input_values[i] : -1;
      const int producer = value >= 0 ? draft_.producer[static_cast<size_t>(value)] : -1;
      if (producer >= 0 && draft_.command(producer).kind == CommandKind::kCopy) {
        after.push_back(producer);
      } else if (!IsFed(node.inputs[i])) {
        const auto& done = Done(node.inputs[i].node);
        after.insert(after.end(), done.begin(), done.end());
      }
    }
    for (const int control : node.control_inputs) {
      const auto& done = Done(control);
      after.insert(after.end(), done.begin(), done.end());
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
  }

  bool AllOutputsFed(int id) {
    const auto outputs = static_cast<int>(draft_.info.outputs(id).size());
    for (int k = 0; k < outputs; ++k) {
      if (!IsFed({id, k})) return false;
    }
    return outputs > 0;
  }

  void AddNode(int id) {
    const Node& node = draft_.node(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    if (AllOutputsFed(id)) return;
    if (node.op == "Placeholder") {
      Throw(Code::kInvalidArgument,
            "You must feed a value for placeholder tensor '{}' with dtype {} and shape {}", node.name,
            DataTypeName(draft_.info.of({id, 0}).dtype), draft_.info.of({id, 0}).shape.ToString());
    }
    if (draft_.IsFolded(id)) return;
    const int device = draft_.device_of(id);
    LANESCOPE_CHECK(device >= 0);
    if (node.op == "Const") return AddConstant(id, device);
    if (def != nullptr &&
        (def->role == StateRole::kVariable || (def->role == StateRole::kTable && node.inputs.empty()))) {
      return AddState(id, *def, device);
    }
    if (node.op == "NoOp") return AddBarrier(id, device);
    std::vector<bool> host_inputs, host_outputs;
    const std::string& type = draft_.machine.device(device).parsed.type;
    if (draft_.machine.device(device).is_gpu() && HasHostArguments(node.op)) {
      host_inputs = KernelTable::Global().HostInputs(node, type);
      host_outputs = KernelTable::Global().HostOutputs(node, type);
    }
    const auto on_host = [&](const std::vector<bool>& flags, size_t i, DataType dtype) {
      return LivesOnHost(dtype) || (i < flags.size() && flags[i]);
    };
    std::vector<int> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int base = BaseValue(node.inputs[i]);
      const Value& value = draft_.value(base);
      const bool state = value.storage == Storage::kResource;
      const int wanted = state ? value.device : on_host(host_inputs, i, value.dtype) ? host_ : device;
      if (state && value.variable >= 0 && IsVariable(value.variable) && value.device != device)
        ValueAt(node.inputs[i], device, id);
      inputs.push_back(ValueAt(node.inputs[i], wanted, id));
    }
    if (def != nullptr && MakesAlias(id, *def, device, inputs, host_outputs))
      return AddAlias(id, device, inputs);
    AddLaunch(id, def, device, inputs,
              [&](size_t k, DataType dtype) { return on_host(host_outputs, k, dtype) ? host_ : device; });
  }

  // Most ops have none on any device; asking the table for every node would take longer than all else.
  bool HasHostArguments(const std::string& op) {
    const auto [found, added] = host_arguments_.try_emplace(op, false);
    if (added) {
      const auto& entries = KernelTable::Global().Entries(op);
      found->second = std::any_of(entries.begin(), entries.end(),
                                  [](const KernelEntry& entry) { return !entry.host_memory_args.empty(); });
    }
    return found->second;
  }

  bool IsVariable(int node) const {
    const OpDef* def = OpRegistry::Global().Find(draft_.node(node).op);
    return def != nullptr && def->role == StateRole::kVariable;
  }

  void AddConstant(int id, int device) {
    const TensorInfo& info = draft_.info.of({id, 0});
    const bool host = LivesOnHost(info.dtype) || IsReplicated(info.dtype);
    TensorInfo constant = info;
    if (constant.value == nullptr) {
      constant.value = std::make_shared<const Tensor>(draft_.node(id).GetTensorAttr("value"));
    }
    constant.shape = constant.value->shape();
    Base({id, 0}) = ConstantValue({id, 0}, constant, host ? host_ : device);
  }

  void AddState(int id, const OpDef& def, int device) {
    const TensorInfo& info = draft_.info.of({id, 0});
    const bool handle = RemoveRef(info.dtype) == DataType::kResource || def.role == StateRole::kTable;
    const int value = NewValue({id, 0}, device, info, handle ? Storage::kResource : Storage::kVariable);
    draft_.value(value).variable = id;
    if (def.role == StateRole::kVariable) {
      draft_.variables.emplace_back(id, device);
      if (!handle && !info.shape.IsExact()) {
        Throw(Code::kUnimplemented, "variable '{}' has no fixed shape ({})", draft_.node(id).name,
              info.shape.ToString());
      }
    }
    Base({id, 0}) = value;
  }

  // A node without work: whoever waits for it waits for what it waits for. A barrier of many on both sides is
  // worth a command.
  void AddBarrier(int id, int device) {
    auto after = Dependencies(draft_.node(id), {});
    if (after.size() > 8) {
      DraftCommand barrier;
      barrier.node = id;
      barrier.device = device;
      barrier.after = std::move(after);
      after = {static_cast<int>(draft_.commands.size())};
      draft_.commands.push_back(std::move(barrier));
    }
    done_[static_cast<size_t>(id)] = std::move(after);
  }

  bool MakesAlias(int id, const OpDef& def, int device, const std::vector<int>& inputs,
                  const std::vector<bool>& host_outputs) {
    if (draft_.node(id).op == "ReadVariableOp") return true;
    if (def.alias != AliasRule::kInput0) return false;
    const Value& input = draft_.value(inputs[0]);
    const TensorInfo& output = draft_.info.of({id, 0});
    const bool output_on_host = LivesOnHost(input.dtype) || (!host_outputs.empty() && host_outputs[0]);
    if (input.device != (output_on_host ? host_ : device)) return false;
    // With a bounded shape only ops that keep the shape can do without running: the actual size is the
    // input's.
    return output.shape.IsExact() || KeepsShape(draft_.node(id).op);
  }

  static bool KeepsShape(const std::string& op) {
    return op == "Identity" || op == "StopGradient" || op == "PreventGradient" || op == "Snapshot" ||
           op == "RefIdentity";
  }

  void AddAlias(int id, int device, const std::vector<int>& inputs) {
    const Node& node = draft_.node(id);
    const TensorInfo& info = draft_.info.of({id, 0});
    const int from = inputs[0];
    const bool read = draft_.value(from).storage == Storage::kResource;
    const int value = NewValue({id, 0}, draft_.value(from).device, info, draft_.value(from).storage);
    Value& alias = draft_.value(value);
    if (read) {
      if (alias.device != device) {
        Throw(Code::kInvalidArgument,
              "variable '{}' is on {} but '{}' reads it on {}; they must share a device",
              draft_.node(draft_.value(from).variable).name, draft_.machine.device(alias.device).local_name(),
              node.name, draft_.machine.device(device).local_name());
      }
      alias.storage = Storage::kVariable;
      alias.bytes = BytesOf(info);
    } else {
      alias.alias_of = from;
      alias.constant = draft_.value(from).constant;
    }
    alias.variable = draft_.value(from).variable;
    if (!alias.shape.HasBound()) alias.shape = draft_.value(from).shape;
    done_[static_cast<size_t>(id)] = Dependencies(node, inputs);
    if (read) draft_.reads.push_back({value, done_[static_cast<size_t>(id)]});
    Base({id, 0}) = value;
  }

  template <typename DeviceOfOutput>
  void AddLaunch(int id, const OpDef* def, int device, const std::vector<int>& inputs,
                 DeviceOfOutput output_device) {
    const Node& node = draft_.node(id);
    const int number = static_cast<int>(draft_.commands.size());
    DraftCommand launch;
    launch.node = id;
    launch.device = device;
    launch.inputs = inputs;
    launch.after = Dependencies(node, inputs);
    const auto outputs = draft_.info.outputs(id);
    const auto types =
        def != nullptr && def->role == StateRole::kUpdate ? OutputTypes(node) : std::vector<DataType>();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Endpoint endpoint{id, static_cast<int>(k)};
      if (IsFed(endpoint)) {
        launch.outputs.push_back(
            NewValue(endpoint, output_device(k, outputs[k].dtype), outputs[k], Storage::kPlanned));
        draft_.producer.back() = number;
        continue;
      }
      int value;
      if (def != nullptr && def->role == StateRole::kUpdate && IsRefType(types[k])) {
        value = NewValue(endpoint, draft_.value(inputs[0]).device, outputs[k], Storage::kVariable);
        draft_.value(value).variable = draft_.value(inputs[0]).variable;
        draft_.value(value).alias_of = inputs[0];
      } else {
        if (def != nullptr && !outputs[k].shape.HasBound() &&
            RemoveRef(outputs[k].dtype) != DataType::kResource) {
          Throw(Code::kInvalidArgument,
                "the size of '{}' ({}) is not known when the step is compiled; feed tensors of fixed shape",
                draft_.graph.TensorName(endpoint), TensorDescription(outputs[k]));
        }
        value = NewValue(endpoint, output_device(k, outputs[k].dtype), outputs[k], Storage::kPlanned);
      }
      draft_.producer[static_cast<size_t>(value)] = number;
      Base(endpoint) = value;
      launch.outputs.push_back(value);
    }
    if (def != nullptr && def->workspace) launch.workspace_bytes = Workspace(id);
    done_[static_cast<size_t>(id)] = {number};
    draft_.commands.push_back(std::move(launch));
  }

  int64_t Workspace(int id) const {
    std::vector<TensorInfo> inputs;
    for (const Endpoint& input : draft_.node(id).inputs) inputs.push_back(draft_.info.of(input));
    return WorkspaceOf(draft_.node(id), inputs, draft_.info.outputs(id));
  }

  Draft& draft_;
  const int host_;
  std::vector<int> first_;                                // by node: its first output in base_
  std::vector<int> base_;                                 // by output: the value where it was made
  std::vector<int> next_place_;                           // by value: the same tensor elsewhere
  std::vector<std::vector<int>> done_;                    // by node: commands after which it is complete
  std::unordered_map<std::string, bool> host_arguments_;  // by op
};

}  // namespace

void Partition(Draft* draft) { Partitioner(draft).Run(); }

}  // namespace lanescope::compile
