// SPDX-License-Identifier: Apache-2.0
// Whole copies of variables in parts, one on each GPU that reads them: what ZeRO keeps of parameters where it
// shares out the optimizer's state alone. Internal to core.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/strategies/block_collectives.h"
#include "core/strategies/step_nodes.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {

class ParameterCopies {
 public:
  // `scope`: of what is added to `graph`. All must outlive it.
  ParameterCopies(const Graph& before, const VariablesInParts& parts, Graph* graph, StepNodes* added,
                  std::string scope)
      : before_(before), parts_(parts), graph_(*graph), added_(*added), scope_(std::move(scope)) {}

  // A variable, or the value of one, on these devices.
  const Shards& Of(Endpoint of, const std::vector<std::string>& devices);
  // By variable that has copies: the nodes among these that write it.
  std::map<NodeId, std::vector<NodeId>> UpdatesAmong(const IdVector<NodeId, char>& needed) const;

  struct Renewal {
    NodeId variable;
    int place = 0;                // of the collectives that join it
    Shards parts;                 // of the variable
    std::vector<Shards> updates;  // that write the parts
  };
  // Makes copies again, once their variables' parts are updated: those of one block by one collective.
  // `targets` gets the nodes that do. `name`: of what is done.
  void Renew(const std::string& name, const std::vector<Renewal>& renewals,
             std::vector<BlockCollectives>* collectives, std::vector<std::string>* targets);

 private:
  NodeId VariableOf(NodeId id) const;
  bool IsHandle(NodeId variable) const { return before_.node(variable).op == "VarHandleOp"; }
  std::vector<std::string> RenewBlock(const std::string& name, const std::vector<const Renewal*>& block,
                                      BlockCollectives* collectives);
  Endpoint Updated(const Renewal& renewal, size_t device, const std::string& name);

  const Graph& before_;
  const VariablesInParts& parts_;
  Graph& graph_;
  StepNodes& added_;
  const std::string scope_;
  std::map<NodeId, Shards> copies_;                       // by variable, or what reads one
  std::map<NodeId, std::vector<std::string>> variables_;  // by variable: the devices of its copies
};

}  // namespace lanescope
