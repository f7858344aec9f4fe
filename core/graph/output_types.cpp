// SPDX-License-Identifier: Apache-2.0
#include "core/graph/output_types.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/graph/op.h"

namespace lanescope {
namespace {

// An output of an unknown op beyond this number is taken for a damaged file.
constexpr int kMaxUnknownOutput = 1 << 16;

// The outputs of ops of which nothing is known, by node, as far as others read them; kInvalid where no reader
// says what it expects.
using ReadOutputs = std::unordered_map<NodeId, std::vector<DataType>>;

void NoteReads(const Graph& graph, const Node& reader, bool readable, ReadOutputs* unknown) {
  std::vector<DataType> expected;
  for (size_t i = 0; i < reader.inputs.size(); ++i) {
    const Endpoint source = reader.inputs[i];
    const auto found = unknown->find(source.node);
    if (found == unknown->end() || source.output < 0) continue;
    if (source.output > kMaxUnknownOutput) {
      Throw(Code::kInvalidArgument, "node '{}': input {} is output {} of '{}'; {} of them are accepted",
            reader.name, i, source.output, graph.node(source.node).name, kMaxUnknownOutput + 1);
    }
    std::vector<DataType>& outputs = found->second;
    const auto output = static_cast<size_t>(source.output);
    if (output >= outputs.size()) outputs.resize(output + 1, DataType::kInvalid);
    if (outputs[output] != DataType::kInvalid) continue;
    if (expected.empty() && readable) expected = InputTypes(reader);
    if (i < expected.size()) outputs[output] = expected[i];
  }
}

// Null for a node with a problem too.
IdVector<NodeId, const OpDef*> FindSignatures(const Graph& graph) {
  IdVector<NodeId, const OpDef*> signatures;
  signatures.reserve(graph.num_nodes());
  for (const Node& node : graph.nodes()) signatures.Add(OpRegistry::Global().SignatureOf(node));
  for (const auto& [id, problem] : graph.problems) signatures[id] = nullptr;
  return signatures;
}

ReadOutputs FindUnknownOutputs(const Graph& graph, const IdVector<NodeId, const OpDef*>& signatures) {
  ReadOutputs unknown;
  for (const NodeId id : graph.node_ids()) {
    if (signatures[id] == nullptr) unknown[id];
  }
  if (unknown.empty()) return unknown;
  for (const NodeId id : graph.node_ids()) {
    NoteReads(graph, graph.node(id), !graph.problems.contains(id), &unknown);
  }
  return unknown;
}

}  // namespace

GraphOutputTypes CollectOutputTypes(const Graph& graph) {
  const IdVector<NodeId, const OpDef*> signatures = FindSignatures(graph);
  const ReadOutputs unknown = FindUnknownOutputs(graph, signatures);
  GraphOutputTypes all;
  all.first.reserve(graph.num_nodes() + 1);
  all.first.push_back(0);
  all.types.reserve(graph.num_nodes());
  for (const NodeId id : graph.node_ids()) {
    std::vector<DataType> types =
        graph.problems.contains(id) ? std::vector<DataType>() : OutputTypes(graph.node(id), signatures[id]);
    if (const auto read = unknown.find(id); read != unknown.end()) {
      const bool said = graph.node(id).FindAttr("_output_types") != nullptr;
      const DataType guess = types.empty() ? DataType::kFloat : types.front();
      if (types.size() < read->second.size()) types.resize(read->second.size(), guess);
      for (size_t k = 0; !said && k < read->second.size(); ++k) {
        if (read->second[k] != DataType::kInvalid) types[k] = read->second[k];
      }
    }
    all.types.insert(all.types.end(), types.begin(), types.end());
    all.first.push_back(static_cast<int>(all.types.size()));
  }
  return all;
}

}  // namespace lanescope
