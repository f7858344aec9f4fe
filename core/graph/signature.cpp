// SPDX-License-Identifier: Apache-2.0
#include "core/graph/signature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lanescope {
namespace {

constexpr int64_t kMaxShownValues = 8;
constexpr size_t kMaxStringAttr = 64;

template <typename T>
std::string JoinList(const std::vector<T>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format("{}", static_cast<T>(list[i]));
  }
  return text + "]";
}

// The text of an attribute that can change the work; empty for kinds that cannot.
std::string AttrText(const AttrValue& value) {
  struct Visitor {
    std::string operator()(const std::string& text) const { return text.substr(0, kMaxStringAttr); }
    std::string operator()(int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(float number) const { return fmt::format("{}", number); }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(DataType type) const { return DataTypeName(type); }
    std::string operator()(const std::vector<int64_t>& list) const { return JoinList(list); }
    std::string operator()(const std::vector<float>& list) const { return JoinList(list); }
    std::string operator()(const std::vector<bool>& list) const { return JoinList(list); }
    std::string operator()(const ShapeAttr&) const { return {}; }
    std::string operator()(const std::shared_ptr<const TensorAttr>&) const { return {}; }
    std::string operator()(const std::vector<std::string>&) const { return {}; }
    std::string operator()(const std::vector<DataType>&) const { return {}; }
    std::string operator()(const std::vector<ShapeAttr>&) const { return {}; }
    std::string operator()(const RawAttr&) const { return {}; }
  };
  return std::visit(Visitor{}, value);
}

bool IsIrrelevant(std::string_view name, const OpDef* def) {
  static constexpr std::array<std::string_view, 8> kNames = {"container", "shared_name", "seed",    "seed2",
                                                             "value",     "tensor_name", "message", "dtype"};
  if (name.empty() || name.front() == '_') return true;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  if (def == nullptr) return name == "T" || name == "N";
  const auto names_a_type = [&](const std::vector<ArgDef>& args) {
    return std::any_of(args.begin(), args.end(), [&](const ArgDef& arg) {
      return arg.type_attr == name || arg.type_list_attr == name || arg.number_attr == name;
    });
  };
  return names_a_type(def->inputs) || names_a_type(def->outputs);
}

std::string AttrsText(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  std::string text;
  for (const auto& [name, value] : node.attrs) {
    if (IsIrrelevant(name, def)) continue;
    const std::string shown = AttrText(value);
    if (shown.empty()) continue;
    const AttrDef* attr = def == nullptr ? nullptr : def->FindAttr(name);
    if (attr != nullptr && attr->fallback && AttrText(*attr->fallback) == shown) continue;
    text += fmt::format("{}{}={}", text.empty() ? "{" : ",", name, shown);
  }
  return text.empty() ? text : text + "}";
}

std::string TensorText(const TensorInfo& info) {
  std::string text = DataTypeName(info.dtype) + info.shape.ToString();
  if (info.value == nullptr) return text;
  const bool integer = info.dtype == DataType::kInt32 || info.dtype == DataType::kInt64;
  const int64_t count = info.value->NumElements();
  if (!integer || info.value->dtype() != info.dtype || count > kMaxShownValues) return text;
  for (int64_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "=" : ",", info.value->IntAt(i));
  return text;
}

std::string TensorsText(std::span<const TensorInfo> tensors) {
  std::string text;
  for (const TensorInfo& tensor : tensors) text += (text.empty() ? "" : ";") + TensorText(tensor);
  return text;
}

}  // namespace

std::string OpSignature(const Node& node, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs) {
  return fmt::format("{}({})->{}{}", node.op, TensorsText(inputs), TensorsText(outputs), AttrsText(node));
}

std::string CopySignature(DataType dtype, const Shape& shape) {
  return fmt::format("Copy({}{})", DataTypeName(dtype), shape.ToString());
}

}  // namespace lanescope
