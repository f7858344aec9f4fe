// SPDX-License-Identifier: Apache-2.0
#include "core/place/placer_messages.h"

#include <fmt/core.h>

#include <cctype>

namespace lanescope {
namespace {

// "DT_FLOAT"
std::string EnumName(DataType type) {
  std::string name = "DT_" + DataTypeName(type);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

struct ValuePrinter {
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(DataType value) const { return EnumName(value); }
  std::string operator()(const ShapeAttr& value) const { return value.shape.ToString(); }
  std::string operator()(const std::shared_ptr<const TensorAttr>& value) const {
    if (value == nullptr) return "Tensor<>";
    return fmt::format("Tensor<type: {} shape: {}>", DataTypeName(value->value.dtype()),
                       value->value.shape().ToString());
  }
  std::string operator()(const RawAttr&) const { return "<other>"; }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text += ", ";
      text += (*this)(static_cast<const T&>(values[i]));
    }
    return text + "]";
  }
};

}  // namespace

std::string NodeTag(std::string_view name) { return fmt::format("{{{{node {}}}}}", name); }

std::string ColocationTag(std::string_view name) { return fmt::format("{{{{colocation_node {}}}}}", name); }

std::string WithNodeTag(std::string_view message, const Node& node) {
  return fmt::format("{}\n\t [[{}]]", message, NodeTag(node.name));
}

std::string SummarizeAttrs(const Node& node) {
  std::string text;
  for (const auto& [name, value] : node.attrs) {
    if (!text.empty()) text += ", ";
    text += name + "=" + std::visit(ValuePrinter(), value);
  }
  return text;
}

std::string RegisteredKernels(std::string_view op, const KernelTable& kernels) {
  std::string text;
  for (const KernelEntry& entry : kernels.Entries(op)) {
    text += fmt::format("  device='{}'", entry.device_type);
    for (const auto& [attr, types] : entry.constraints) {
      text += fmt::format("; {} in {}", attr, ValuePrinter()(types));
    }
    text += "\n";
  }
  return text.empty() ? "  <no registered kernels>\n" : text;
}

std::string TypeNames(const DeviceTable& devices) {
  std::string text;
  for (int type = 0; type < devices.num_types(); ++type) {
    if (type > 0) text += ", ";
    text += devices.type_name(type);
  }
  return text;
}

}  // namespace lanescope
