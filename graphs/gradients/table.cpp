// SPDX-License-Identifier: Apache-2.0
// The gradients of all ops, by op.
#include <string>
#include <unordered_map>

#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

// Inputs of these ops change outputs by steps, or not at all, or are no numbers.
constexpr const char* kWithoutGradient[] = {"ApproximateEqual",
                                            "ArgMax",
                                            "ArgMin",
                                            "AsString",
                                            "Assert",
                                            "Assign",
                                            "AssignAdd",
                                            "AssignSub",
                                            "BitwiseAnd",
                                            "BitwiseOr",
                                            "BitwiseXor",
                                            "BroadcastGradientArgs",
                                            "Ceil",
                                            "ConcatOffset",
                                            "Const",
                                            "DecodeRaw",
                                            "EmptyTensorList",
                                            "Equal",
                                            "Floor",
                                            "FloorDiv",
                                            "Greater",
                                            "GreaterEqual",
                                            "HashTable",
                                            "HashTableV2",
                                            "HistogramSummary",
                                            "InitializeTable",
                                            "InitializeTableV2",
                                            "Invert",
                                            "InvertPermutation",
                                            "LeftShift",
                                            "Less",
                                            "LessEqual",
                                            "LinSpace",
                                            "LogicalAnd",
                                            "LogicalNot",
                                            "LogicalOr",
                                            "LookupTableFind",
                                            "LookupTableFindV2",
                                            "LookupTableInsert",
                                            "LookupTableInsertV2",
                                            "LookupTableSize",
                                            "LookupTableSizeV2",
                                            "MergeSummary",
                                            "Multinomial",
                                            "MutableHashTable",
                                            "MutableHashTableV2",
                                            "NotEqual",
                                            "OneHot",
                                            "OnesLike",
                                            "RandomShuffle",
                                            "RandomStandardNormal",
                                            "RandomUniform",
                                            "Range",
                                            "Rank",
                                            "RightShift",
                                            "Rint",
                                            "Round",
                                            "ScalarSummary",
                                            "ScatterAdd",
                                            "ScatterDiv",
                                            "ScatterMul",
                                            "ScatterNdAdd",
                                            "ScatterNdSub",
                                            "ScatterNdUpdate",
                                            "ScatterSub",
                                            "Shape",
                                            "ShapeN",
                                            "Size",
                                            "StringSplit",
                                            "StatelessMultinomial",
                                            "StatelessRandomGetAlg",
                                            "StatelessRandomGetKeyCounter",
                                            "StatelessRandomGetKeyCounterAlg",
                                            "StatelessRandomNormal",
                                            "StatelessRandomNormalV2",
                                            "StatelessRandomUniform",
                                            "StatelessRandomUniformInt",
                                            "StatelessRandomUniformIntV2",
                                            "StatelessRandomUniformV2",
                                            "StatelessTruncatedNormal",
                                            "StatelessTruncatedNormalV2",
                                            "StopGradient",
                                            "StringJoin",
                                            "StringToHashBucket",
                                            "StringToHashBucketFast",
                                            "StringToNumber",
                                            "TensorListElementShape",
                                            "TensorListLength",
                                            "TensorListReserve",
                                            "TruncateDiv",
                                            "TruncatedNormal",
                                            "VarIsInitializedOp",
                                            "VariableShape",
                                            "ZerosLike"};

class Table : public GradientTable {
 public:
  Table() {
    for (const char* op : kWithoutGradient) functions_[op] = nullptr;
    AddUnaryGradients(*this);
    AddBinaryGradients(*this);
    AddReductionGradients(*this);
    AddLinearGradients(*this);
    AddEinsumGradients(*this);
    AddFactorGradients(*this);
    AddNetworkGradients(*this);
    AddVolumeGradients(*this);
    AddArrayGradients(*this);
    AddSliceGradients(*this);
    AddGatherGradients(*this);
    AddSegmentGradients(*this);
    AddBranchGradients(*this);
    AddLoopGradients(*this);
    AddListGradients(*this);
    AddTensorArrayGradients(*this);
    AddSecondGradients(*this);
    AddSecondNetworkGradients(*this);
  }

  void Add(std::string_view op, GradientFunction function) override {
    functions_[std::string(op)] = function;
  }

  const GradientFunction* Find(std::string_view op) const {
    const auto found = functions_.find(std::string(op));
    return found == functions_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, GradientFunction> functions_;
};

}  // namespace

const GradientFunction* FindGradient(std::string_view op) {
  static const Table* const table = new Table;
  return table->Find(op);
}

}  // namespace lanescope::graphs
