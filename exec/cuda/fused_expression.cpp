// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/fused_expression.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>

#include "core/base/error.h"

namespace lanescope::exec::cuda {
namespace {

// Ops that are not called as their functor is.
const std::map<std::string_view, std::string_view>& OtherFunctors() {
  static const std::map<std::string_view, std::string_view> names = {
      {"AddV2", "Add"},      {"BiasAdd", "Add"},     {"BiasAddV1", "Add"},
      {"Inv", "Reciprocal"}, {"Rint", "Round"},      {"InvGrad", "ReciprocalGrad"},
      {"RealDiv", "Div"},    {"Mod", "TruncateMod"},
  };
  return names;
}

std::string AddAll(std::span<const std::string> operands) {
  std::string sum = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) sum = fmt::format("f::Add()({}, {})", sum, operands[i]);
  return sum;
}

}  // namespace

std::string_view CTypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat:
      return "float";
    case DataType::kDouble:
      return "double";
    case DataType::kInt32:
      return "int";
    case DataType::kInt64:
      return "long long";
    case DataType::kBool:
      return "bool";
    default:
      Throw(Code::kUnimplemented, "no kernels are made for elements of type {}", DataTypeName(dtype));
  }
}

std::string ElementExpression(const Node& node, DataType result, std::span<const std::string> operands) {
  const std::string_view op = node.op;
  if (op == "LogicalNot") return fmt::format("!{}", operands[0]);
  if (op == "LogicalAnd") return fmt::format("{} && {}", operands[0], operands[1]);
  if (op == "LogicalOr") return fmt::format("{} || {}", operands[0], operands[1]);
  if (op == "Select" || op == "SelectV2")
    return fmt::format("{} ? {} : {}", operands[0], operands[1], operands[2]);
  if (op == "Cast")
    return fmt::format("f::Cast<{}, {}>()({})", CTypeOf(result), CTypeOf(node.TypeAttr("SrcT")), operands[0]);
  if (op == "ClipByValue")
    return fmt::format("f::Maximum()(f::Minimum()({}, {}), {})", operands[0], operands[2], operands[1]);
  if (op == "AddN") return AddAll(operands);
  std::string_view functor = op;
  if (const auto found = OtherFunctors().find(op); found != OtherFunctors().end()) functor = found->second;
  // The only functors that hold a number.
  const std::string held =
      op.starts_with("LeakyRelu") ? fmt::format("{:.9g}", node.FloatAttr("alpha", 0.2f)) : "";
  return fmt::format("f::{}{{{}}}({})", functor, held, fmt::join(operands, ", "));
}

RowFold FoldOf(std::string_view op, DataType dtype) {
  const std::string_view type = CTypeOf(dtype);
  if (op == "Max") return {"f::Maximum", fmt::format("-{}(INFINITY)", type)};
  if (op == "Min") return {"f::Minimum", fmt::format("{}(INFINITY)", type)};
  if (op == "Prod") return {"f::Mul", fmt::format("{}(1)", type)};
  return {"f::Add", fmt::format("{}(0)", type)};
}

std::string BroadcastTerm(const std::string& index, int64_t inner, int64_t size, bool outermost) {
  std::string term = inner == 1 ? index : fmt::format("{} / {}", index, inner);
  if (!outermost) term = fmt::format("{} % {}", term, size);
  return term;
}

std::string BroadcastIndex(const Shape& input, const Shape& output, const std::string& index,
                           const TermOf& term_of) {
  if (input.NumElements() == output.NumElements()) return index;
  if (input.NumElements() == 1) return "0";
  // Dimensions side by side that the input has, or has not, are one.
  struct Run {
    bool kept;
    int64_t size;
  };
  std::vector<Run> runs;  // from the last dimension
  for (int back = 1; back <= output.rank(); ++back) {
    const int64_t size = output[output.rank() - back];
    if (size == 1) continue;
    const bool kept = back <= input.rank() && input[input.rank() - back] == size;
    if (!runs.empty() && runs.back().kept == kept) {
      runs.back().size *= size;
    } else {
      runs.push_back({kept, size});
    }
  }
  std::string sum;
  int64_t inner = 1, stride = 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].kept) {
      const bool outermost = i + 1 == runs.size();
      std::string term = term_of ? term_of(inner, runs[i].size, outermost)
                                 : BroadcastTerm(index, inner, runs[i].size, outermost);
      if (stride > 1) term = fmt::format("({}) * {}", term, stride);
      sum += (sum.empty() ? "" : " + ") + term;
      stride *= runs[i].size;
    }
    inner *= runs[i].size;
  }
  return sum;
}

}  // namespace lanescope::exec::cuda
