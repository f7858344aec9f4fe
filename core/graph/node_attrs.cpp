// SPDX-License-Identifier: Apache-2.0
// Typed access to the attributes of a node.
#include "core/base/error.h"
#include "core/graph/graph.h"

namespace lanescope {
namespace {

// Names by the order of AttrValue's alternatives.
constexpr const char* kKinds[] = {"string",      "int",
                                  "float",       "bool",
                                  "type",        "shape",
                                  "tensor",      "list(string)",
                                  "list(int)",   "list(float)",
                                  "list(bool)",  "list(type)",
                                  "list(shape)", "function or empty value"};
static_assert(std::size(kKinds) == std::variant_size_v<AttrValue>);

template <typename T, size_t I = 0>
constexpr size_t IndexOf() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<I, AttrValue>>) {
    return I;
  } else {
    return IndexOf<T, I + 1>();
  }
}

[[noreturn]] void ThrowKind(const Node& node, std::string_view attr, const AttrValue& value, size_t wanted) {
  Throw(Code::kInvalidArgument, "attribute '{}' of node '{}' ({}) has the type {}, not {}", attr, node.name,
        node.op, kKinds[value.index()], kKinds[wanted]);
}

const AttrValue& Require(const Node& node, std::string_view attr) {
  const AttrValue* value = node.FindAttr(attr);
  if (value == nullptr) {
    Throw(Code::kInvalidArgument, "node '{}' ({}) has no attribute '{}'", node.name, node.op, attr);
  }
  return *value;
}

template <typename T>
const T& As(const Node& node, std::string_view attr, const AttrValue& value) {
  const T* typed = std::get_if<T>(&value);
  if (typed == nullptr) ThrowKind(node, attr, value, IndexOf<T>());
  return *typed;
}

template <typename T>
const T& Get(const Node& node, std::string_view attr) {
  return As<T>(node, attr, Require(node, attr));
}

bool IsEmptyList(const AttrValue& value) {
  return std::visit(
      [](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, std::string>) {
          return false;
        } else if constexpr (requires { v.empty(); }) {
          return v.empty();
        } else {
          return false;
        }
      },
      value);
}

// A file does not say of what type an empty list is.
template <typename T>
const std::vector<T>& GetList(const Node& node, std::string_view attr) {
  static const std::vector<T> empty;
  const AttrValue& value = Require(node, attr);
  return IsEmptyList(value) ? empty : As<std::vector<T>>(node, attr, value);
}

template <typename T>
T GetOr(const Node& node, std::string_view attr, T fallback) {
  const AttrValue* value = node.FindAttr(attr);
  return value == nullptr ? fallback : As<T>(node, attr, *value);
}

}  // namespace

const AttrValue* Node::FindAttr(std::string_view attr) const {
  const auto it = attrs.find(attr);
  return it == attrs.end() ? nullptr : &it->second;
}

const std::string& Node::StringAttr(std::string_view attr) const { return Get<std::string>(*this, attr); }
int64_t Node::IntAttr(std::string_view attr) const { return Get<int64_t>(*this, attr); }
float Node::FloatAttr(std::string_view attr) const { return Get<float>(*this, attr); }
bool Node::BoolAttr(std::string_view attr) const { return Get<bool>(*this, attr); }
DataType Node::TypeAttr(std::string_view attr) const { return Get<DataType>(*this, attr); }
const Shape& Node::GetShapeAttr(std::string_view attr) const { return Get<ShapeAttr>(*this, attr).shape; }

const Tensor& Node::GetTensorAttr(std::string_view attr) const {
  const auto& constant = Get<std::shared_ptr<const TensorAttr>>(*this, attr);
  if (constant == nullptr || !constant->value.valid()) {
    Throw(Code::kInvalidArgument, "attribute '{}' of node '{}' ({}) holds no readable tensor", attr, name,
          op);
  }
  return constant->value;
}

const std::vector<int64_t>& Node::IntListAttr(std::string_view attr) const {
  return GetList<int64_t>(*this, attr);
}
const std::vector<std::string>& Node::StringListAttr(std::string_view attr) const {
  return GetList<std::string>(*this, attr);
}
const std::vector<DataType>& Node::TypeListAttr(std::string_view attr) const {
  return GetList<DataType>(*this, attr);
}

int64_t Node::IntAttr(std::string_view attr, int64_t fallback) const { return GetOr(*this, attr, fallback); }
float Node::FloatAttr(std::string_view attr, float fallback) const { return GetOr(*this, attr, fallback); }
bool Node::BoolAttr(std::string_view attr, bool fallback) const { return GetOr(*this, attr, fallback); }
std::string Node::StringAttr(std::string_view attr, std::string_view fallback) const {
  return GetOr(*this, attr, std::string(fallback));
}
DataType Node::TypeAttr(std::string_view attr, DataType fallback) const {
  return GetOr(*this, attr, fallback);
}

}  // namespace lanescope
