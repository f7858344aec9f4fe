// SPDX-License-Identifier: Apache-2.0
// An op function's argument for a tensor: a node's output, or a value that becomes a constant beside it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/tensor.h"

namespace lanescope::graphs {

struct Variable;

// One tensor given to an op. A number (or a list of numbers) has no element type of its own: it takes the one
// that the op's other inputs say, int32 or float where they say nothing. Value type.
class Input {
 public:
  Input(Endpoint endpoint) : endpoint_(endpoint) {}  // NOLINT: implicit by design, as are the others
  Input(const Variable& variable);                   // its value
  Input(const Tensor& value) : value_(value), typed_(true) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(T value) : Input(Shape{}, std::vector<T>{value}) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(const std::vector<T>& values)
      : Input(Shape{static_cast<Dim>(values.size())}, values) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(std::initializer_list<T> values) : Input(std::vector<T>(values)) {}
  // Numbers in this shape.
  template <typename T>
  requires std::is_arithmetic_v<T> Input(const Shape& shape, const std::vector<T>& values)
      : value_(Numbers(shape, values)) {}
  Input(const char* text) : Input(std::string(text)) {}
  Input(const std::string& text) : value_(Tensor::Scalar<std::string>(text)), typed_(true) {}

  // Null where the input is a value.
  const Endpoint* endpoint() const { return endpoint_ ? &*endpoint_ : nullptr; }
  // The tensor of an input that is a value.
  const Tensor& value() const { return value_; }
  // Whether the value has an element type of its own.
  bool typed() const { return typed_; }

 private:
  template <typename T>
  static Tensor Numbers(const Shape& shape, const std::vector<T>& values) {
    using Kept = std::conditional_t<std::is_same_v<T, bool>, bool,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
    return Tensor::FromValues(shape, std::vector<Kept>(values.begin(), values.end()));
  }

  std::optional<Endpoint> endpoint_;
  Tensor value_;
  bool typed_ = false;
};

// As an attribute holds them.
inline std::vector<ShapeAttr> ShapeList(const std::vector<Shape>& shapes) {
  std::vector<ShapeAttr> list;
  for (const Shape& shape : shapes) list.push_back({shape, {}});
  return list;
}

// The tensors of an argument that takes a list of them.
class InputList {
 public:
  template <typename T>
  requires std::is_convertible_v<const T&, Input> InputList(const T& input)
      : inputs_{Input(input)} {}  // NOLINT: implicit by design
  InputList(std::initializer_list<Input> inputs) : inputs_(inputs) {}
  InputList(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}
  InputList(const std::vector<Endpoint>& endpoints) : inputs_(endpoints.begin(), endpoints.end()) {}

  const std::vector<Input>& inputs() const { return inputs_; }

 private:
  std::vector<Input> inputs_;
};

// The element type that plain numbers take where nothing else says one: int32, float, or their own.
DataType NaturalType(const Tensor& value);
// `value`'s numbers as `dtype`; throws InvalidArgument where they are no such numbers.
Tensor NumbersAs(const Tensor& value, DataType dtype);

}  // namespace lanescope::graphs
