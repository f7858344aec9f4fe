// SPDX-License-Identifier: Apache-2.0
// How an op takes its inputs' parts, and what it makes of them, where every part of the batch is computed by
// itself. Internal to core.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/layout.h"

namespace lanescope {

// How the tensor of a part of the batch stands to that of the whole batch, with n parts in all: it is the
// same, or so many of its rows, or a term of the sum that it is; and all of that times n to the power of
// `degree`. A mean over the batch is terms of degree 1, the size of the batch the same of degree -1.
struct BatchPart {
  Layout layout;
  int degree = 0;
  bool counts_rows = false;  // numbers of rows, which begin with 0 in every part
  bool is_whole = false;     // counts: no part of one is lost where they become whole numbers
  bool ends_runs = false;    // counts: where runs of rows end that were brought together, as each part counts
  bool is_alike = false;     // rows, and every part has the same ones
  bool is_known = true;      // false: no rule says it

  bool is_same() const { return is_known && layout.whole(); }
  bool is_rows() const { return is_known && layout.parts(); }
  bool is_terms() const { return is_known && layout.terms(); }
  friend bool operator==(const BatchPart&, const BatchPart&) = default;
};

// A node as a rule sees it. Shapes are those of the whole batch.
struct BatchQuery {
  const Node& node;
  std::span<const TensorInfo> inputs, outputs;
  std::vector<BatchPart> parts;  // of the inputs
  std::vector<char> is_zero;     // inputs that are constants of zeros alone
  std::vector<char> is_fed;      // inputs that feeds and constants alone make
  // By output the axes that are shorter in a part; none where shapes are not exact.
  std::vector<std::optional<std::vector<int>>> cut;
  int64_t count = 2;  // of parts
};

struct BatchChoice {
  std::vector<BatchPart> inputs;  // as the node has to get them
  std::vector<BatchPart> outputs;
  std::string problem;  // why no part can be computed by itself; empty: it can
};

// Whether a share of a number of this type is one.
constexpr bool HasShares(DataType type) {
  return type == DataType::kFloat || type == DataType::kHalf || type == DataType::kBfloat16 ||
         type == DataType::kDouble;
}

// Without a rule for the op its inputs are taken as they are, and nothing is known of its outputs but the
// axis of rows. That is a problem where rows or terms go in, but for ops that are known to work row by row.
BatchChoice ChooseBatchParts(const BatchQuery& query);

}  // namespace lanescope
