// SPDX-License-Identifier: Apache-2.0
// Ops that find elements by number, or write them there.
#include <map>
#include <string_view>

#include "core/strategies/batch_rule.h"
#include "core/strategies/layout_lookups.h"

namespace lanescope {
namespace {

using Vanishing = BatchRule::Vanishing;

constexpr const char* kOtherRows = "finds rows of the batch by number";

// Rows of a part have other numbers than those of the batch, unless these count them there.
void CheckNumbers(BatchRule& rule, const BatchPart& numbers) {
  if (!numbers.counts_rows) rule.Fail(kOtherRows);
}

void Gathers(BatchRule& rule) {
  rule.TakePlain(1);
  BatchPart made = rule.in(0);
  const bool rows_of_numbers = rule.in(1).layout.parts();
  if (made.is_terms() && rows_of_numbers) rule.Take(0, --made.degree);
  if (made.is_terms() && !rows_of_numbers) return rule.Give(0, made, Vanishing::kIsProblem);
  const Shape& table = rule.info(0).shape;
  const auto axis = rule.num_inputs() > 2 ? AxisOf(rule.info(2), table.rank()) : std::optional(0);
  const bool by_row = made.layout.parts() && axis == made.layout.axis;
  if (by_row) CheckNumbers(rule, rule.in(1));
  rule.Give(0, made, Vanishing::kIsProblem);
}

// How many axes the numbers in the last axis of this input name.
int DepthOf(BatchRule& rule, size_t numbers) {
  const Shape& shape = rule.info(numbers).shape;
  return shape.known_rank() && shape.rank() > 0 ? static_cast<int>(shape.dim(shape.rank() - 1)) : 0;
}

void GathersPlaces(BatchRule& rule) {
  rule.TakePlain(1);
  BatchPart made = rule.in(0);
  made.counts_rows = false;
  if (made.is_terms() && rule.in(1).layout.parts()) rule.Take(0, --made.degree);
  if (made.layout.parts() && made.layout.axis < DepthOf(rule, 1)) CheckNumbers(rule, rule.in(1));
  rule.Give(0, made, Vanishing::kIsProblem);
}

// Where rows are written into something without rows, each part has its own ones of them there.
void WritesInto(BatchRule& rule, BatchPart made, const BatchPart& numbers, int depth, bool adds) {
  const auto axis = rule.AxisOfRows(0);
  if (axis && *axis < depth && numbers.layout.parts()) CheckNumbers(rule, numbers);
  if (axis && *axis < depth && !numbers.layout.parts()) rule.Fail(kOtherRows);
  made.counts_rows = made.counts_rows && !adds;  // written somewhere, they name the same rows
  rule.Give(0, made, adds ? Vanishing::kAddsUp : Vanishing::kIsProblem);
}

void Scatters(BatchRule& rule) {
  rule.TakePlain(0);
  WritesInto(rule, rule.in(1), rule.in(0), DepthOf(rule, 0), true);
}

void ScattersInto(BatchRule& rule, bool adds) {
  rule.TakePlain(1);
  BatchPart made = rule.TakeAlike({0, 2});
  const auto axis = rule.AxisOfRows(0);
  if (!axis && rule.AnyRows() && !rule.in(0).layout.parts())
    return rule.Fail("writes rows of the batch over each other");
  WritesInto(rule, made, rule.in(1), DepthOf(rule, 1), adds);
}
// Added to zeros, rows make terms.
void ScattersSum(BatchRule& rule) {
  const bool vanish = !rule.AxisOfRows(0) && rule.in(2).layout.parts();
  if (!vanish) return ScattersInto(rule, true);
  rule.TakePlain(1);
  if (rule.in(0).layout.parts() || !rule.is_zero(0)) return rule.Fail("adds rows of the batch to something");
  rule.Give(0, {.layout = kTerms, .degree = rule.in(2).degree}, Vanishing::kAddsUp);
}
void ScattersLast(BatchRule& rule) { ScattersInto(rule, false); }

void AddsSegments(BatchRule& rule) {
  rule.TakePlain(1);
  BatchPart made = rule.in(0);
  if (made.is_terms() && rule.in(1).layout.parts()) rule.Take(0, --made.degree);
  WritesInto(rule, made, rule.in(1), 1, true);
}

void PicksOfSegments(BatchRule& rule) {
  rule.TakePlain(0);
  rule.TakePlain(1);
  WritesInto(rule, {}, rule.in(1), 1, false);
}

void MarksHot(BatchRule& rule) {
  for (size_t i = 0; i < rule.num_inputs(); ++i) rule.TakePlain(i);
  rule.Give(0, {}, Vanishing::kIsProblem);
}

const std::map<std::string_view, BatchRuleFunction, std::less<>>& LookupRules() {
  static const std::map<std::string_view, BatchRuleFunction, std::less<>> kTable = {
      {"Gather", &Gathers},
      {"GatherV2", &Gathers},
      {"ResourceGather", &Gathers},
      {"GatherNd", &GathersPlaces},
      {"ScatterNd", &Scatters},
      {"TensorScatterAdd", &ScattersSum},
      {"TensorScatterSub", &ScattersSum},
      {"TensorScatterUpdate", &ScattersLast},
      {"TensorScatterMax", &ScattersLast},
      {"TensorScatterMin", &ScattersLast},
      {"UnsortedSegmentSum", &AddsSegments},
      {"UnsortedSegmentMax", &PicksOfSegments},
      {"UnsortedSegmentMin", &PicksOfSegments},
      {"UnsortedSegmentProd", &PicksOfSegments},
      {"OneHot", &MarksHot},
  };
  return kTable;
}

}  // namespace

BatchRuleFunction FindLookupBatchRule(const Node& node) {
  const auto rule = LookupRules().find(node.op);
  return rule != LookupRules().end() ? rule->second : nullptr;
}

}  // namespace lanescope
