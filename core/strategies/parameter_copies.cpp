// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/parameter_copies.h"

#include <fmt/core.h>

#include <tuple>

namespace lanescope {

NodeId ParameterCopies::VariableOf(NodeId id) const {
  return parts_.IsVariable(id) ? id : before_.node(id).inputs[0].node;
}

const Shards& ParameterCopies::Of(Endpoint of, const std::vector<std::string>& devices) {
  if (const auto known = copies_.find(of.node); known != copies_.end()) return known->second;
  const NodeId variable = VariableOf(of.node);
  const Shards variables = variable == of.node ? Shards() : Of({variable, 0}, devices);
  Shards copies;
  for (size_t r = 0; r < devices.size(); ++r) {
    Node node = before_.node(of.node);
    node.name = fmt::format("{}/copy_{}", node.name, r);
    node.device = devices[r];
    parts_.DropColocation(-1, &node);
    if (!variables.empty())
      node.inputs = {variables[r]};
    else if (!node.StringAttr("shared_name", "").empty())
      node.attrs["shared_name"] = node.name;
    copies.push_back({graph_.AddNode(std::move(node)), 0});
  }
  variables_[variable] = devices;
  return copies_[of.node] = std::move(copies);
}

std::map<NodeId, std::vector<NodeId>> ParameterCopies::UpdatesAmong(
    const IdVector<NodeId, char>& needed) const {
  std::map<NodeId, std::vector<NodeId>> updates;
  for (const NodeId id : before_.node_ids()) {
    if (needed[id] == 0 || !parts_.UpdatedBy(id).exists()) continue;
    for (const Endpoint& input : before_.node(id).inputs) {
      if (variables_.contains(input.node)) updates[input.node].push_back(id);
    }
  }
  return updates;
}

// The part as its updates have left it.
Endpoint ParameterCopies::Updated(const Renewal& renewal, size_t device, const std::string& name) {
  const NodeId variable = renewal.variable;
  NodeBuilder read =
      added_.New(IsHandle(variable) ? "ReadVariableOp" : "Identity", name, variables_.at(variable)[device]);
  read.Input(renewal.parts[device]);
  if (IsHandle(variable)) read.Attr("dtype", before_.node(variable).TypeAttr("dtype", DataType::kInvalid));
  for (const Shards& update : renewal.updates) read.ControlInput(update[device]);
  return read.Build();
}

void ParameterCopies::Renew(const std::string& name, const std::vector<Renewal>& renewals,
                            std::vector<BlockCollectives>* collectives, std::vector<std::string>* targets) {
  std::map<std::tuple<std::string, DataType, int>, std::vector<const Renewal*>> blocks;
  for (const Renewal& renewal : renewals) {
    const Node& variable = before_.node(renewal.variable);
    const DataType type = variable.TypeAttr("dtype", DataType::kInvalid);
    blocks[{BlockOf(variable.name), type, renewal.place}].push_back(&renewal);
  }
  for (const auto& [key, block] : blocks) {
    const auto place = static_cast<size_t>(block[0]->place);
    for (std::string& node : RenewBlock(name, block, &(*collectives)[place]))
      targets->push_back(std::move(node));
  }
}

std::vector<std::string> ParameterCopies::RenewBlock(const std::string& name,
                                                     const std::vector<const Renewal*>& block,
                                                     BlockCollectives* collectives) {
  const std::string scope = fmt::format("{}{}/{}/", scope_, before_.node(block[0]->variable).name, name);
  const size_t devices = block[0]->parts.size();
  std::vector<Shards> parts;
  std::vector<Shape> shapes;
  for (const Renewal* renewal : block) {
    Shards updated;
    for (size_t r = 0; r < devices; ++r)
      updated.push_back(Updated(*renewal, r, fmt::format("{}updated_{}_{}", scope, parts.size(), r)));
    parts.push_back(std::move(updated));
    shapes.push_back(before_.node(renewal->variable).GetShapeAttr("shape"));
  }
  const std::vector<Shards> whole = collectives->Gather(scope, parts, shapes, std::vector<NodeId>(devices));
  std::vector<std::string> written;
  for (size_t i = 0; i < block.size(); ++i) {
    const NodeId variable = block[i]->variable;
    for (size_t r = 0; r < devices; ++r) {
      NodeBuilder assign = added_.New(IsHandle(variable) ? "AssignVariableOp" : "Assign",
                                      fmt::format("{}assign_{}_{}", scope, i, r), variables_.at(variable)[r]);
      assign.Input(copies_.at(variable)[r]).Input(whole[i][r]);
      if (IsHandle(variable))
        assign.Attr("dtype", before_.node(variable).TypeAttr("dtype", DataType::kInvalid));
      written.push_back(graph_.node(assign.Build().node).name);
    }
  }
  return written;
}

}  // namespace lanescope
