// SPDX-License-Identifier: Apache-2.0
// Tables of inference cases: an op, its inputs, its attributes, and what is expected of its outputs as text.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op.h"

namespace lanescope {

// "[2,<=3,?]" or "<unknown>", as Shape::ToString prints.
inline Shape ShapeOf(std::string_view text) {
  if (text == "<unknown>") return Shape::Unknown();
  Shape shape;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view dim = text.substr(0, comma);
    const bool bounded = dim.starts_with("<=");
    if (bounded) dim.remove_prefix(2);
    int64_t size = -1;
    if (dim != "?") std::from_chars(dim.data(), dim.data() + dim.size(), size);
    shape.Append(bounded ? BoundedDim(size) : size);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return shape;
}

// One input: a constant, or a tensor of which only dtype, shape and maybe ranges are known.
struct In {
  TensorInfo info;
};

inline In Float(std::string_view shape) {
  return {{DataType::kFloat, ShapeOf(shape), nullptr, nullptr, nullptr}};
}
inline In Typed(DataType dtype, std::string_view shape) {
  return {{dtype, ShapeOf(shape), nullptr, nullptr, nullptr}};
}
inline In Int(std::string_view shape) { return Typed(DataType::kInt32, shape); }
template <typename T>
In Constant(const Tensor& tensor) {
  return {{DataTypeOf<T>::value, tensor.shape(), std::make_shared<const Tensor>(tensor), nullptr, nullptr}};
}
inline In Ints(const std::vector<int32_t>& values, std::string_view shape = "") {
  const Shape s = shape.empty() ? Shape{static_cast<int64_t>(values.size())} : ShapeOf(shape);
  return Constant<int32_t>(Tensor::FromValues(s, values));
}
inline In Scalar(int32_t value) { return Ints({value}, "[]"); }
// An integer vector whose elements are known to lie in ranges.
inline In Ranges(std::vector<ValueRange> ranges, std::string_view shape = "") {
  const Shape s = shape.empty() ? Shape{static_cast<int64_t>(ranges.size())} : ShapeOf(shape);
  return {{DataType::kInt32, s, nullptr, std::make_shared<const std::vector<ValueRange>>(std::move(ranges)),
           nullptr}};
}
inline ValueRange Exactly(int64_t value) { return {value, value}; }
inline ValueRange UpTo(int64_t value) { return {0, value}; }

struct OpCase {
  std::string op;
  std::vector<In> inputs;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<std::string> outputs;  // "[2,3]", "[2]={4,5}" for a constant, "[2]~{0..5,7}" for ranges
};

inline std::string Describe(const TensorInfo& info) {
  std::string text = info.shape.ToString();
  if (info.value != nullptr && info.value->dtype() != DataType::kFloat) {
    text += "={";
    for (int64_t i = 0; i < info.value->NumElements(); ++i) {
      text += (i > 0 ? "," : "") + std::to_string(info.value->IntAt(i));
    }
    text += "}";
  } else if (info.ranges != nullptr) {
    const auto end = [](int64_t bound) {
      const bool open = bound == ValueRange{}.low || bound == ValueRange{}.high;
      return open ? std::string() : std::to_string(bound);
    };
    text += "~{";
    for (const ValueRange& range : *info.ranges) {
      if (text.back() != '{') text += ",";
      text += range.exact() ? std::to_string(range.low) : end(range.low) + ".." + end(range.high);
    }
    text += "}";
  }
  return text;
}

// A graph of one placeholder per input, fed with what the case says, and the op as its last node, "op".
inline std::pair<Graph, std::vector<std::pair<Endpoint, TensorInfo>>> GraphOf(const OpCase& op_case) {
  GraphBuilder builder;
  std::vector<Endpoint> inputs;
  std::vector<std::pair<Endpoint, TensorInfo>> feeds;
  for (const In& in : op_case.inputs) {
    inputs.push_back(
        builder.Placeholder("in" + std::to_string(inputs.size()), in.info.dtype, Shape::Unknown()));
    feeds.emplace_back(inputs.back(), in.info);
  }
  NodeBuilder node = builder.Op(op_case.op, "op");
  node.Inputs(inputs);
  for (const auto& [name, value] : op_case.attrs) node.Attr(name, value);
  node.Build();
  return {builder.Take(), std::move(feeds)};
}

inline std::vector<TensorInfo> InferCase(const OpCase& op_case) {
  const auto [graph, feeds] = GraphOf(op_case);
  const GraphInfo info = InferGraph(graph, feeds);
  const auto outputs = info.outputs(graph.FindNode("op"));
  return {outputs.begin(), outputs.end()};
}

inline void CheckCases(const std::vector<OpCase>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const OpCase& op_case = cases[i];
    SCOPED_TRACE(op_case.op + ", case " + std::to_string(i));
    std::vector<std::string> given;
    try {
      for (const TensorInfo& info : InferCase(op_case)) given.push_back(Describe(info));
    } catch (const Error& error) {
      given = {error.what()};
    }
    EXPECT_EQ(given, op_case.outputs);
  }
}

// The case throws InvalidArgument with a message that names the node and contains outputs[0].
inline void CheckErrors(const std::vector<OpCase>& cases, Code code = Code::kInvalidArgument) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const OpCase& op_case = cases[i];
    SCOPED_TRACE(op_case.op + ", case " + std::to_string(i));
    try {
      InferCase(op_case);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(error.message().find("node 'op'"), std::string::npos) << error.what();
      EXPECT_NE(error.message().find(op_case.outputs.at(0)), std::string::npos) << error.what();
    }
  }
}

}  // namespace lanescope
