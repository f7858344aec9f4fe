// SPDX-License-Identifier: Apache-2.0
#include "core/graph/op.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/recorded_signatures.h"

namespace lanescope {
namespace {

// More outputs or inputs than this under one name are nonsense, and would only cost memory.
constexpr int64_t kMaxListLength = 1 << 16;

const AttrValue* FindOrDefault(const Node& node, const OpDef& def, std::string_view attr) {
  if (const AttrValue* value = node.FindAttr(attr)) return value;
  const AttrDef* declared = def.FindAttr(attr);
  return declared != nullptr && declared->fallback ? &*declared->fallback : nullptr;
}

template <typename T>
const T& SignatureAttr(const Node& node, const OpDef& def, std::string_view attr) {
  const AttrValue* value = FindOrDefault(node, def, attr);
  const T* typed = value == nullptr ? nullptr : std::get_if<T>(value);
  if (typed == nullptr) {
    Throw(Code::kInvalidArgument, "node '{}': {} {} attribute '{}'", node.name, node.op,
          value == nullptr ? "lacks" : "has a value of the wrong kind in", attr);
  }
  return *typed;
}

// Rules rely on it that a list of tensors is as long as the definition says at least.
void CheckLength(const Node& node, const OpDef& def, std::string_view attr, int64_t length) {
  const int64_t minimum = def.FindAttr(attr)->minimum.value_or(0);
  if (length < minimum || length > kMaxListLength) {
    Throw(Code::kInvalidArgument, "node '{}': attribute '{}' of {} says {} tensors, expected {} to {}",
          node.name, attr, node.op, length, minimum, kMaxListLength);
  }
}

void AppendTypes(const Node& node, const OpDef& def, const ArgDef& arg, std::vector<DataType>* types) {
  if (!arg.type_list_attr.empty()) {
    // A file does not say which kind an empty list is of.
    if (const AttrValue* value = FindOrDefault(node, def, arg.type_list_attr)) {
      const auto* ints = std::get_if<std::vector<int64_t>>(value);
      if (ints != nullptr && ints->empty()) return CheckLength(node, def, arg.type_list_attr, 0);
    }
    const auto& list = SignatureAttr<std::vector<DataType>>(node, def, arg.type_list_attr);
    CheckLength(node, def, arg.type_list_attr, static_cast<int64_t>(list.size()));
    types->insert(types->end(), list.begin(), list.end());
    return;
  }
  DataType type = arg.type_attr.empty() ? arg.type : SignatureAttr<DataType>(node, def, arg.type_attr);
  if (arg.is_ref) type = MakeRef(RemoveRef(type));
  if (arg.number_attr.empty()) {
    types->push_back(type);
    return;
  }
  const int64_t count = SignatureAttr<int64_t>(node, def, arg.number_attr);
  CheckLength(node, def, arg.number_attr, count);
  types->insert(types->end(), static_cast<size_t>(count), type);
}

std::vector<DataType> TypesOf(const Node& node, const OpDef& def, const std::vector<ArgDef>& args) {
  std::vector<DataType> types;
  types.reserve(args.size());
  for (const ArgDef& arg : args) AppendTypes(node, def, arg, &types);
  return types;
}

// An unknown op has as many outputs as its attributes speak of.
std::vector<DataType> UndefinedOutputTypes(const Node& node) {
  if (const AttrValue* types = node.FindAttr("_output_types")) {
    if (const auto* list = std::get_if<std::vector<DataType>>(types)) return *list;
  }
  DataType type = DataType::kFloat;
  for (const char* attr : {"T", "dtype"}) {
    const AttrValue* value = node.FindAttr(attr);
    if (value != nullptr && std::holds_alternative<DataType>(*value)) {
      type = std::get<DataType>(*value);
      break;
    }
  }
  size_t count = 1;
  if (const AttrValue* shapes = node.FindAttr("_output_shapes")) {
    const auto* list = std::get_if<std::vector<ShapeAttr>>(shapes);
    count = list == nullptr ? 0 : list->size();  // an empty list is read as one of integers
  }
  return std::vector<DataType>(count, type);
}

// Tensors of one argument by the node's own attributes; -1 where they do not say.
int64_t TensorCount(const Node& node, const ArgDef& arg) {
  const std::string& attr = arg.type_list_attr.empty() ? arg.number_attr : arg.type_list_attr;
  if (attr.empty()) return 1;
  const AttrValue* value = node.FindAttr(attr);
  if (value == nullptr) return -1;
  if (const auto* count = std::get_if<int64_t>(value)) return arg.type_list_attr.empty() ? *count : -1;
  if (const auto* types = std::get_if<std::vector<DataType>>(value))
    return static_cast<int64_t>(types->size());
  // A file does not say which kind an empty list is of.
  const auto* ints = std::get_if<std::vector<int64_t>>(value);
  return ints != nullptr && ints->empty() && !arg.type_list_attr.empty() ? 0 : -1;
}

int64_t MinimumOf(const OpDef& signature, const ArgDef& arg) {
  const std::string& attr = arg.type_list_attr.empty() ? arg.number_attr : arg.type_list_attr;
  const AttrDef* def = attr.empty() ? nullptr : signature.FindAttr(attr);
  return def == nullptr ? 0 : std::max<int64_t>(0, def->minimum.value_or(0));
}

// Whether the node says all that the signature asks for. A newer TensorFlow may have changed an op.
bool Fits(const Node& node, const OpDef& signature) {
  int64_t inputs = 0;
  for (const auto* args : {&signature.inputs, &signature.outputs}) {
    for (const ArgDef& arg : *args) {
      const int64_t count = TensorCount(node, arg);
      if (count < MinimumOf(signature, arg) || count > kMaxListLength) return false;
      if (args == &signature.inputs) inputs += count;
      if (!arg.type_attr.empty()) {
        const AttrValue* type = node.FindAttr(arg.type_attr);
        if (type == nullptr || !std::holds_alternative<DataType>(*type)) return false;
      }
    }
  }
  return inputs == static_cast<int64_t>(node.inputs.size());
}

}  // namespace

const AttrDef* OpDef::FindAttr(std::string_view attr) const {
  for (const AttrDef& def : attrs) {
    if (def.name == attr) return &def;
  }
  return nullptr;
}

const OpRegistry& OpRegistry::Global() {
  static const OpRegistry* const registry = [] {
    auto* built = new OpRegistry;
    ops::RegisterMathOps(*built);
    ops::RegisterReductionOps(*built);
    ops::RegisterLinearOps(*built);
    ops::RegisterConvolutionOps(*built);
    ops::RegisterPoolingOps(*built);
    ops::RegisterVolumeOps(*built);
    ops::RegisterImageOps(*built);
    ops::RegisterNnOps(*built);
    ops::RegisterArrayOps(*built);
    ops::RegisterSliceOps(*built);
    ops::RegisterMetadataOps(*built);
    ops::RegisterSparseOps(*built);
    ops::RegisterSegmentOps(*built);
    ops::RegisterStateOps(*built);
    ops::RegisterOptimizerOps(*built);
    ops::RegisterRandomOps(*built);
    ops::RegisterSamplingOps(*built);
    ops::RegisterCollectiveOps(*built);
    ops::RegisterWireOps(*built);
    ops::RegisterStringOps(*built);
    ops::RegisterQueueOps(*built);
    ops::RegisterAccumulatorOps(*built);
    ops::RegisterReaderOps(*built);
    ops::RegisterExampleOps(*built);
    ops::RegisterTextOps(*built);
    ops::RegisterControlOps(*built);
    return built;
  }();
  return *registry;
}

const OpDef* OpRegistry::Find(std::string_view op) const {
  const auto it = ops_.find(op);
  return it == ops_.end() ? nullptr : it->second.get();
}

const OpDef* OpRegistry::SignatureOf(const Node& node) const {
  if (const OpDef* def = Find(node.op)) return def;
  const OpDef* recorded = this == &Global() ? RecordedSignature(node.op) : nullptr;
  return recorded != nullptr && Fits(node, *recorded) ? recorded : nullptr;
}

std::vector<std::string_view> OpRegistry::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, def] : ops_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

OpDef& OpRegistry::Register(OpDef def) {
  auto owned = std::make_unique<OpDef>(std::move(def));
  const auto [it, inserted] = ops_.try_emplace(owned->name, nullptr);
  if (!inserted) Throw(Code::kAlreadyExists, "op {} is registered already", owned->name);
  it->second = std::move(owned);
  return *it->second;
}

std::vector<DataType> InputTypes(const Node& node) {
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  if (def == nullptr) return std::vector<DataType>(node.inputs.size(), DataType::kInvalid);
  return TypesOf(node, *def, def->inputs);
}

std::vector<DataType> OutputTypes(const Node& node) {
  return OutputTypes(node, OpRegistry::Global().SignatureOf(node));
}

std::vector<DataType> OutputTypes(const Node& node, const OpDef* signature) {
  return signature == nullptr ? UndefinedOutputTypes(node) : TypesOf(node, *signature, signature->outputs);
}

int NumOutputs(const Node& node) { return static_cast<int>(OutputTypes(node).size()); }

bool IsRefInput(const Node& node, int input) {
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  if (def == nullptr) return false;
  // Every definition has its references before any list of inputs.
  const bool simple = input >= 0 && static_cast<size_t>(input) < def->inputs.size();
  return simple && def->inputs[static_cast<size_t>(input)].is_ref;
}

std::optional<std::vector<int64_t>> InferenceContext::IntValues(int i) const {
  const Tensor* tensor = value(i);
  if (tensor == nullptr) return std::nullopt;
  std::vector<int64_t> values(static_cast<size_t>(tensor->NumElements()));
  for (size_t k = 0; k < values.size(); ++k) values[k] = tensor->IntAt(static_cast<int64_t>(k));
  return values;
}

std::optional<int64_t> InferenceContext::IntScalar(int i) const {
  const Tensor* tensor = value(i);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->NumElements() != 1) {
    Throw(Code::kInvalidArgument, "node '{}': {} input {} has shape {}, expected a scalar", node_.name,
          node_.op, i, tensor->shape().ToString());
  }
  return tensor->IntAt(0);
}

void InferenceContext::RequireRank(int i, int rank) const {
  if (shape(i).known_rank() && shape(i).rank() != rank) {
    Throw(Code::kInvalidArgument, "node '{}': {} input {} has shape {}, expected rank {}", node_.name,
          node_.op, i, shape(i).ToString(), rank);
  }
}

}  // namespace lanescope
