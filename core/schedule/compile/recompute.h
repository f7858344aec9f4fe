// SPDX-License-Identifier: Apache-2.0
// Lets the backward launch of attention compute the probabilities anew instead of reading them, so that these
// need no memory from the forward pass to the backward one (Dao et al. 2022). Private to the pass Fuse.
#pragma once

#include <vector>

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/fusion_groups.h"
#include "core/schedule/compile/join_products.h"

namespace lanescope::compile {

// Results of one launch that another one reads, and products that can join that one: the commands that make
// them, each after those whose results it reads, and the commands that read them.
struct Recomputation {
  std::vector<CommandId> made_by;
  std::vector<ValueId> values;     // roots that only the readers below, and the launch itself, read
  std::vector<CommandId> readers;  // outside of the launch that makes them
};

// By launch with products (`launches`: a command of each): those that a GPU computes sooner than it moves
// them, and on any device all of them where they would take more than a quarter of its memory. In the order
// in which the readers come.
std::vector<Recomputation> FindRecomputations(const Draft& draft, const FusionGroups& groups,
                                              const ProductJoiner& joiner,
                                              const std::vector<CommandId>& launches);

// Adds the same commands once more and lets the readers read what these make.
void Recompute(Draft* draft, const std::vector<Recomputation>& found);

}  // namespace lanescope::compile
