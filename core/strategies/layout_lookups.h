// SPDX-License-Identifier: Apache-2.0
// Rules of ops that take tensors apart, join them and look rows up. Internal to core.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/strategies/layout_rules.h"

namespace lanescope {

// A constant list of integers or a single one; none: it is not known.
std::optional<std::vector<int64_t>> NumbersOf(const TensorInfo& info);
// The axis that the only number of `info` names, of so many; none: it is not known.
std::optional<int> AxisOf(const TensorInfo& info, int rank);

std::vector<LayoutChoice> SplitChoices(const LayoutQuery& query);
std::vector<LayoutChoice> ConcatChoices(const LayoutQuery& query);
std::vector<LayoutChoice> PackChoices(const LayoutQuery& query);
std::vector<LayoutChoice> SliceChoices(const LayoutQuery& query);
std::vector<LayoutChoice> SliceGradientChoices(const LayoutQuery& query);
// Each device finds its own rows of a table that is cut by rows, and the sum of what they found is all.
std::vector<LayoutChoice> GatherChoices(const LayoutQuery& query);
std::vector<LayoutChoice> GatherNdChoices(const LayoutQuery& query);
std::vector<LayoutChoice> SegmentSumChoices(const LayoutQuery& query);
std::vector<LayoutChoice> OneHotChoices(const LayoutQuery& query);

// Attention and losses of PyTorch that are known by their cost alone: by heads, and by classes.
std::vector<LayoutChoice> CostOnlyChoices(const LayoutQuery& query);

}  // namespace lanescope
