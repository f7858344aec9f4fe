#include "exec/kernels/einsum_plan.h"

namespace lanescope::exec {
namespace {

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

}  // namespace

int64_t EinsumPlan::CountOf(const std::string& labels) const {
  int64_t count = 1;
  for (const char label : labels) count *= sizes.at(label);
  return count;
}

EinsumOp::EinsumOp(const Node& node)
    : equation_(ops::ParseEinsum(node.StringAttr("equation"), static_cast<int>(node.IntAttr("N")))) {
  if (equation_.inputs.size() > 2) {
    Throw(Code::kUnimplemented, "node {}: an einsum of {} operands has no kernel here", node.name,
          equation_.inputs.size());
  }
  const std::string& a = equation_.inputs[0];
  const std::string b = equation_.inputs.size() > 1 ? equation_.inputs[1] : std::string();
  for (const char label : a) {
    (Has(b, label) ? Has(equation_.output, label) ? batch_ : summed_ : left_) += label;
  }
  for (const char label : b) {
    if (!Has(a, label)) right_ += label;
  }
  for (const char label : left_ + right_) CheckInOutput(node.name, label);
}

// What is in one operand alone has to be in the result: sums over it have no kernel.
void EinsumOp::CheckInOutput(const std::string& name, char label) const {
  if (Has(equation_.output, label)) return;
  Throw(Code::kUnimplemented, "node {}: an einsum that sums over '{}' of one operand has no kernel here",
        name, label);
}

EinsumPlan EinsumOp::Plan(KernelContext& context) const {
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.input(i).shape);
  EinsumPlan plan{&equation_,
                  ops::EinsumSizes(equation_, shapes),
                  batch_ + left_ + summed_,
                  batch_ + summed_ + right_,
                  batch_ + left_ + right_,
                  0,
                  0,
                  0,
                  0};
  plan.batches = plan.CountOf(batch_);
  plan.m = plan.CountOf(left_);
  plan.n = plan.CountOf(right_);
  plan.k = plan.CountOf(summed_);
  ShapeOutput(context, 0, ops::EinsumShape(equation_.output, plan.sizes));
  return plan;
}

}  // namespace lanescope::exec
