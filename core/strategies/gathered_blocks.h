// SPDX-License-Identifier: Apache-2.0
// Which variables in parts are gathered together, as one flat parameter: those of one block and type that one
// pass reads. Internal to core.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/sharded_step.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {

class GatheredBlocks {
 public:
  // Refers to all of them. Reads of the first replica say what is read with what.
  GatheredBlocks(const Graph& graph, const GraphInfo& info, const VariablesInParts& parts,
                 const IdVector<NodeId, ShardedNode>& nodes);

  // All that is gathered for the pass together with `of`, a variable or a read of it: in the order of the
  // reads, or itself alone where the first replica does not read it in this pass.
  std::vector<Endpoint> With(Endpoint of, int pass) const;

 private:
  using Key = std::tuple<std::string, int, DataType>;  // block, pass, type
  Key KeyOf(Endpoint of, int pass) const;

  const GraphInfo& info_;
  const VariablesInParts& parts_;
  std::map<Key, std::vector<Endpoint>> together_;
};

}  // namespace lanescope
