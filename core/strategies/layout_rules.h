// SPDX-License-Identifier: Apache-2.0
// Which layouts of its inputs an op takes, and what layouts its outputs then have: one table by op, as in
// GSPMD (Xu et al., 2021) and PyTorch's DTensor. Internal to core.
#pragma once

#include <span>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/layout.h"
#include "core/strategies/split_by.h"

namespace lanescope {

// One way to compute a node on the devices.
struct LayoutChoice {
  std::vector<Layout> inputs, outputs;
};

// A node as a rule sees it. The layouts are those that the inputs have.
struct LayoutQuery {
  const Node& node;
  std::span<const TensorInfo> inputs, outputs;
  const std::vector<Layout>& layouts;
  std::vector<char> open;     // inputs that are variables which nobody has cut yet
  std::vector<Layout> asked;  // layouts of output 0 that readers wish for, in parts all
  int64_t segments = 1;       // of the columns of a product, as its readers take them apart
  int64_t devices = 2;
  SplitBy by = SplitBy::kMatrices;
  bool by_tokens = false;  // input 0 lies in parts along the tokens
  bool in_a_row = true;    // a part is of elements that follow each other
};

// In parts or in terms, better ones first; that all is whole goes without saying, and so it is where an op
// has no rule. Inputs that may be cut for it are: parts of what is whole cost nothing. Throws InvalidArgument
// where heads do not divide, with a number that does.
std::vector<LayoutChoice> LayoutChoices(const LayoutQuery& query);
// It is known by its shape alone, so that it may lie in any way.
bool ReadsShapeAlone(const Node& node);

}  // namespace lanescope
