// SPDX-License-Identifier: Apache-2.0
// The words that rules of batch_rules.h are written in. Internal to core.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/strategies/batch_rules.h"

namespace lanescope {

class BatchRule {
 public:
  explicit BatchRule(const BatchQuery& query) : query_(query) {
    choice_.inputs = query.parts;
    choice_.outputs.resize(query.outputs.size());
  }

  const Node& node() const { return query_.node; }
  size_t num_inputs() const { return query_.parts.size(); }
  size_t num_outputs() const { return query_.outputs.size(); }
  int64_t count() const { return query_.count; }
  const BatchPart& in(size_t i) const { return query_.parts[i]; }
  const TensorInfo& info(size_t i) const { return query_.inputs[i]; }
  bool is_zero(size_t i) const { return query_.is_zero[i] != 0; }
  const TensorInfo& output(size_t k) const { return query_.outputs[k]; }
  std::vector<size_t> All() const;

  // --- how inputs are taken ---

  // Equal in every part, or rows, as large as in the whole batch.
  void TakePlain(size_t i) { Take(i, 0); }
  void TakeAllPlain();
  // Terms are added up first; `degree`: times so many parts.
  void Take(size_t i, int degree);
  // All alike, so that they can be added to each other. What they are then.
  BatchPart TakeAlike(const std::vector<size_t>& inputs);
  // Factors of a product: terms in one of them at most, and then no rows in the others. The product.
  BatchPart TakeFactors(const std::vector<size_t>& inputs);

  // --- what comes of them ---

  // `made`: without regard to rows. An output in which the batch is has rows of that degree; where rows went
  // in and none come out, they are added up, or else it is a problem.
  enum class Vanishing : uint8_t { kAddsUp, kIsProblem };
  void Give(size_t k, const BatchPart& made, Vanishing vanishing);
  void GiveAll(const BatchPart& made, Vanishing vanishing);
  void GiveExactly(size_t k, const BatchPart& made) { choice_.outputs[k] = made; }
  // Where the batch is in an output; none: nowhere, or in several axes, which is a problem.
  std::optional<int> AxisOfRows(size_t k);
  bool AnyRows() const;
  // No input has rows that differ between parts.
  bool AllAlike() const;
  void Fail(std::string why) {
    if (choice_.problem.empty()) choice_.problem = std::move(why);
  }
  bool failed() const { return !choice_.problem.empty(); }

  BatchChoice TakeChoice() { return std::move(choice_); }

 private:
  int64_t SegmentsAt(int axis) const;

  const BatchQuery& query_;
  BatchChoice choice_;
};

// By families of ops. Null: the family has no rule for it.
using BatchRuleFunction = void (*)(BatchRule&);
BatchRuleFunction FindArithmeticBatchRule(const Node& node);
BatchRuleFunction FindViewBatchRule(const Node& node);
BatchRuleFunction FindLookupBatchRule(const Node& node);

}  // namespace lanescope
