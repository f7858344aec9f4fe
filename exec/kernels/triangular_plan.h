// SPDX-License-Identifier: Apache-2.0
// Equations with triangular matrices, for every kind of device.
#pragma once

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// Solutions x of a x = b, or of its transpose's, for `matrices` pairs of a [rows, rows] and b [rows,
// columns].
struct TriangularPlan {
  int64_t matrices = 0, rows = 0, columns = 0;
  bool lower = true;
  bool turned = false;
  Shape batch;  // of the results
};

class TriangularSolveOp {
 public:
  explicit TriangularSolveOp(const Node& node)
      : lower_(node.BoolAttr("lower", true)), turned_(node.BoolAttr("adjoint", false)) {}
  TriangularPlan Plan(KernelContext& context) const;  // inputs a, b

 private:
  bool lower_, turned_;
};

}  // namespace lanescope::exec
