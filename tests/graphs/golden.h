// SPDX-License-Identifier: Apache-2.0
// TensorFlow's recorded results, read and compared: tensors, and nodes as text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "tests/support/paths.h"

namespace lanescope::graphs {

using Json = nlohmann::json;

inline std::filesystem::path Golden(const std::string& folder) {
  return std::filesystem::path(lanescope::test::SourceDir()) / "tests" / "golden" / folder;
}

inline Tensor TensorOf(const Json& json) {
  const auto dims = json.at("shape").get<std::vector<Dim>>();
  Tensor tensor(ParseDataType(json.at("dtype").get<std::string>()),
                lanescope::Shape(std::span<const Dim>(dims)));
  const Json& values = json.at("values");
  for (size_t i = 0; i < values.size(); ++i) {
    const auto set = [&](auto* to) {
      using T = std::remove_pointer_t<decltype(to)>;
      to[i] = values[i].is_boolean() ? static_cast<T>(values[i].get<bool>())
                                     : static_cast<T>(values[i].get<double>());
    };
    switch (tensor.dtype()) {
      case DataType::kFloat:
        set(tensor.data<float>());
        break;
      case DataType::kDouble:
        set(tensor.data<double>());
        break;
      case DataType::kInt32:
        set(tensor.data<int32_t>());
        break;
      case DataType::kInt64:
        set(tensor.data<int64_t>());
        break;
      case DataType::kBool:
        set(tensor.data<bool>());
        break;
      default:
        Throw(Code::kUnimplemented, "golden values of {}", DataTypeName(tensor.dtype()));
    }
  }
  return tensor;
}

inline double NumberAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return tensor.data<float>()[i];
    case DataType::kDouble:
      return tensor.data<double>()[i];
    default:
      return static_cast<double>(tensor.IntAt(i));
  }
}

inline void ExpectNear(const Tensor& actual, const Tensor& expected, double relative, double absolute,
                       const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < actual.NumElements(); ++i) {
    const double wanted = NumberAt(expected, i);
    EXPECT_NEAR(NumberAt(actual, i), wanted, absolute + relative * std::abs(wanted))
        << what << " element " << i;
  }
}

// Everything that tells nodes apart: op, inputs, device, types, flags, groups, and of constants shape and
// integers.
inline std::string TextOf(const Graph& graph, const Node& node) {
  std::string text = node.name + " = " + node.op + "(";
  for (const Endpoint& input : node.inputs) text += graph.TensorName(input) + " ";
  std::vector<std::string> controls;
  for (const NodeId control : node.control_inputs) controls.push_back(graph.node(control).name);
  std::ranges::sort(controls);
  for (const std::string& control : controls) text += "^" + control + " ";
  text += ")" + node.device;
  for (const auto& [name, value] : node.attrs) {
    if (const auto* type = std::get_if<DataType>(&value)) text += " " + name + "=" + DataTypeName(*type);
    if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && !name.starts_with("_")) {
      text += " " + name + "=" + (*flag ? "true" : "false");
    }
    if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && !name.starts_with("_")) {
      text += " " + name + "=" + std::to_string(*number);
    }
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& entry : *list) text += " " + entry;
    }
    if (const auto* tensor = std::get_if<std::shared_ptr<const TensorAttr>>(&value)) {
      text += " " + (*tensor)->value.shape().ToString();
      const bool integers = (*tensor)->value.dtype() == DataType::kInt32;
      for (int64_t i = 0; integers && i < (*tensor)->value.NumElements(); ++i) {
        text += " " + std::to_string((*tensor)->value.IntAt(i));
      }
    }
  }
  return text;
}

// Names the nodes that those called `roots` depend on, themselves included.
inline std::set<std::string> NeededBy(const Graph& graph, const std::vector<std::string>& roots) {
  std::set<std::string> needed;
  std::vector<NodeId> open;
  for (const std::string& root : roots) open.push_back(graph.FindNode(root));
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!id.exists() || !needed.insert(graph.node(id).name).second) continue;
    for (const Endpoint& input : graph.node(id).inputs) open.push_back(input.node);
    for (const NodeId control : graph.node(id).control_inputs) open.push_back(control);
  }
  return needed;
}

// The nodes that `roots` need and `chosen` takes are the same in both graphs, by name.
template <typename Chosen>
void ExpectEqualNodes(const Graph& ours, const Graph& theirs, const std::vector<std::string>& roots,
                      Chosen chosen) {
  const auto texts = [&](const Graph& graph) {
    const std::set<std::string> needed = NeededBy(graph, roots);
    std::map<std::string, std::string> nodes;
    for (const Node& node : graph.nodes()) {
      if (chosen(node) && needed.contains(node.name)) nodes[node.name] = TextOf(graph, node);
    }
    return nodes;
  };
  const auto here = texts(ours), there = texts(theirs);
  std::string only_here, only_there;
  for (const auto& [name, text] : here) {
    if (!there.contains(name) || there.at(name) != text) only_here += "\n  " + text;
  }
  for (const auto& [name, text] : there) {
    if (!here.contains(name) || here.at(name) != text) only_there += "\n  " + text;
  }
  EXPECT_TRUE(only_here.empty() && only_there.empty())
      << "here:" << only_here << "\nin TensorFlow's graph:" << only_there;
}

}  // namespace lanescope::graphs
