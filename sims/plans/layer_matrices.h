// SPDX-License-Identifier: Apache-2.0
// A layer of a transformer by the sizes of its matrices. Internal to sims.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanescope::sims::plans {

// [rows, columns], or of all experts of a layer [experts, rows, columns].
struct NamedMatrix {
  std::string name;
  int64_t experts = 0;  // 0: it is of every token
  int64_t rows = 0, columns = 0;
  // The size beside `hidden`; 0: it has none such.
  int64_t Beside(int64_t hidden) const {
    if (rows == hidden) return columns;
    return columns == hidden ? rows : 0;
  }
};

struct AttentionHeads {
  int64_t count = 0, size = 0;
};

struct LayerSizes {
  int64_t kv_heads = 0;
  int64_t ffn = 0;  // of a network that every token passes, beside experts too; 0: there is none
  int64_t experts = 0, expert_ffn = 0;
  bool gated = false;
};

// Queries, keys, values and the result are one matrix each, or the first three are one. What is left is the
// feed-forward network, with a gate (beside the value in one matrix, or by itself) or without. With stacks of
// experts it is a router's matrix, and perhaps a network that every token passes, with a gate of one number
// or without. Throws InvalidArgument with the reason for other matrices.
LayerSizes SizesOfLayer(const std::vector<NamedMatrix>& matrices, int64_t hidden,
                        const AttentionHeads& heads);

}  // namespace lanescope::sims::plans
