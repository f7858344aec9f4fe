// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/draft.h"

#include <algorithm>

namespace lanescope::compile {

bool Draft::IsFed(Endpoint endpoint) const {
  return has_fed_output[endpoint.node] &&
         std::any_of(request.feeds.begin(), request.feeds.end(),
                     [&](const auto& feed) { return feed.first == endpoint; });
}

CommandId Draft::AddLaunch(NodeId node_id, std::span<const ValueId> inputs, int num_outputs) {
  Command command;
  command.node = node_id;
  command.inputs = static_cast<int>(operands.size());
  command.num_inputs = static_cast<int>(inputs.size());
  command.outputs = command.inputs + command.num_inputs;
  command.num_outputs = num_outputs;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  dependencies.AddList();
  return commands.Add(command);
}

CommandId Draft::AddCopy(ValueId from, ValueId to, NodeId node_id, int version) {
  const CommandId number = AddLaunch(node_id, {&from, 1}, 1);
  operands.push_back(to);
  command(number).kind = CommandKind::kCopy;
  command(number).bytes = value(to).bytes;
  if (version > 0) copied_versions[number] = version;
  producer[to] = number;
  return number;
}

}  // namespace lanescope::compile
