// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/batch_rules.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/strategies/batch_rule.h"

namespace lanescope {
namespace {

// Integers that count rows mean rows of a part there, and nothing else.
bool MayCountRows(const Node& node) {
  static const std::set<std::string_view> kOps = {"Identity",
                                                  "StopGradient",
                                                  "Cast",
                                                  "Reshape",
                                                  "ExpandDims",
                                                  "Squeeze",
                                                  "Transpose",
                                                  "BroadcastTo",
                                                  "Tile",
                                                  "Pack",
                                                  "ConcatV2",
                                                  "StridedSlice",
                                                  "FloorDiv",
                                                  "FloorMod",
                                                  "Mod",
                                                  "Mul",
                                                  "Less",
                                                  "LessEqual",
                                                  "Greater",
                                                  "GreaterEqual",
                                                  "AddV2",
                                                  "Add",
                                                  "Sub",
                                                  "SelectV2",
                                                  "Select",
                                                  "GatherNd",
                                                  "GatherV2",
                                                  "ScatterNd",
                                                  "TensorScatterAdd",
                                                  "TensorScatterSub",
                                                  "TensorScatterUpdate",
                                                  "UnsortedSegmentSum",
                                                  "Shape",
                                                  "Size",
                                                  "Rank",
                                                  "ShapeN",
                                                  "ZerosLike",
                                                  "OnesLike"};
  return kOps.contains(node.op);
}

// Counts of rows stay what they are.
bool KeepsCounts(const Node& node) {
  static const std::set<std::string_view> kOps = {
      "Identity", "Cast", "Reshape", "ExpandDims",         "Squeeze",     "Transpose", "Fill",
      "Cumsum",   "Sum",  "Slice",   "UnsortedSegmentSum", "StridedSlice"};
  return kOps.contains(node.op);
}

BatchRuleFunction FindRule(const Node& node) {
  if (node.FindAttr("_lanescope_cost") != nullptr) return nullptr;
  if (const auto rule = FindViewBatchRule(node)) return rule;
  if (const auto rule = FindLookupBatchRule(node)) return rule;
  return FindArithmeticBatchRule(node);
}

// Ops that take every row of a batch by itself, but are too few or too many in kind for rules.
bool WorksByRow(const Node& node) {
  static const std::set<std::string_view> kOps = {"AllCandidateSampler",
                                                  "AsString",
                                                  "ComputeAccidentalHits",
                                                  "DecodeCSV",
                                                  "DecodeJpeg",
                                                  "DecodePng",
                                                  "DecodeRaw",
                                                  "FixedUnigramCandidateSampler",
                                                  "IdentityN",
                                                  "LearnedUnigramCandidateSampler",
                                                  "LogUniformCandidateSampler",
                                                  "LookupTableFind",
                                                  "LookupTableFindV2",
                                                  "MaxPool3DGradGrad",
                                                  "MaxPoolGradGrad",
                                                  "Multinomial",
                                                  "ParseExample",
                                                  "ParseExampleV2",
                                                  "ReadFile",
                                                  "ResourceGatherNd",
                                                  "StatelessMultinomial",
                                                  "StringJoin",
                                                  "StringLength",
                                                  "StringLower",
                                                  "StringStrip",
                                                  "StringToHashBucket",
                                                  "StringToHashBucketFast",
                                                  "StringToNumber",
                                                  "StringUpper",
                                                  "Substr",
                                                  "ThreadUnsafeUnigramCandidateSampler",
                                                  "UniformCandidateSampler"};
  return kOps.contains(node.op);
}

// A node that says its own cost says which axes of its outputs are rows, too.
bool MayMixRows(const BatchRule& rule, const Node& node) {
  if (node.FindAttr("_lanescope_cost") != nullptr || WorksByRow(node)) return false;
  return std::ranges::any_of(rule.All(), [&](size_t i) {
    const BatchPart& part = rule.in(i);
    return part.is_terms() || (part.is_rows() && !part.is_alike);
  });
}

// Without a rule for the op rows are rows, and whatever has none of them is a mean over the batch.
void GiveUnknown(BatchRule& rule) {
  BatchPart made;
  bool terms = rule.AnyRows();
  for (size_t i = 0; i < rule.num_inputs(); ++i) {
    made.degree = std::max(made.degree, rule.in(i).degree);
    terms = terms || !rule.in(i).is_same();
  }
  for (size_t k = 0; k < rule.num_outputs(); ++k) {
    BatchPart given = made;
    if (const auto axis = rule.AxisOfRows(k))
      given.layout = InParts(*axis);
    else
      given.is_known = !terms;
    rule.GiveExactly(k, given);
  }
}

}  // namespace

BatchChoice ChooseBatchParts(const BatchQuery& query) {
  BatchRule rule(query);
  const BatchRuleFunction function = FindRule(query.node);
  const bool counts = std::ranges::any_of(query.parts, &BatchPart::counts_rows);
  if (function != nullptr && counts && !MayCountRows(query.node)) rule.Fail("numbers the rows of the batch");
  if (function != nullptr && !rule.failed()) function(rule);
  if (function == nullptr && MayMixRows(rule, query.node))
    rule.Fail("may work across rows of the batch, as no rule says how it takes them");
  if (function == nullptr || rule.failed()) GiveUnknown(rule);
  BatchChoice choice = rule.TakeChoice();
  for (BatchPart& made : choice.outputs) {
    if (!KeepsCounts(query.node)) made.is_whole = made.ends_runs = false;
  }
  if (!choice.problem.empty()) choice.inputs = query.parts;
  return choice;
}

}  // namespace lanescope
