// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/einsum_plan.h"

#include <optional>
#include <utility>

namespace lanescope::exec {
namespace {

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

std::string Unique(const std::string& labels) {
  std::string unique;
  for (const char label : labels) {
    if (!Has(unique, label)) unique += label;
  }
  return unique;
}

}  // namespace

int64_t EinsumPlan::CountOf(const std::string& labels) const {
  int64_t count = 1;
  for (const char label : labels) count *= sized.sizes.at(label);
  return count;
}

bool EinsumPlan::has_diagonal() const { return Unique(output()) != output(); }

EinsumOp::EinsumOp(const Node& node)
    : equation_(ops::ParseEinsum(node.StringAttr("equation"), static_cast<int>(node.IntAttr("N")))) {
  if (equation_.inputs.size() > 2) {
    Throw(Code::kUnimplemented, "node {}: an einsum of {} operands has no kernel here", node.name,
          equation_.inputs.size());
  }
}

EinsumPlan EinsumOp::Plan(KernelContext& context) const {
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.input(i).shape);
  std::optional<ops::SizedEinsum> sized = ops::SizeEinsum(equation_, shapes);
  LANESCOPE_CHECK(sized.has_value());
  EinsumPlan plan{std::move(*sized), {}, {}, {}, {}, {}, 0, 0, 0, 0};
  ShapeOutput(context, 0, plan.sized.ShapeOf(plan.output()));
  const std::string a = Unique(plan.operand(0));
  const std::string b = context.num_inputs() > 1 ? Unique(plan.operand(1)) : std::string();
  std::string batch, left, right, summed;
  for (const char label : a) {
    const bool in_output = Has(plan.output(), label);
    if (Has(b, label)) {
      (in_output ? batch : summed) += label;
    } else {
      (in_output ? left : plan.left_alone) += label;
    }
  }
  for (const char label : b) {
    if (!Has(a, label)) (Has(plan.output(), label) ? right : plan.right_alone) += label;
  }
  const bool alone = context.num_inputs() == 1;
  plan.left = alone ? Unique(plan.output()) : batch + left + summed;
  plan.right = batch + summed + right;
  plan.made = alone ? plan.left : batch + left + right;
  plan.batches = plan.CountOf(batch);
  plan.m = plan.CountOf(left);
  plan.n = plan.CountOf(right);
  plan.k = plan.CountOf(summed);
  return plan;
}

}  // namespace lanescope::exec
