// SPDX-License-Identifier: Apache-2.0
// Einsum of one or two operands, for every kind of device: both are turned so that a batch of matrix products
// is left, and the result is turned as the equation says.
#pragma once

#include <map>
#include <string>

#include "core/graph/ops/einsum.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// By letters, what the operands are turned to: [batch, left, summed] and [batch, summed, right] make
// [batch, left, right]. Letters that one operand alone has, and not the result, come last, and are summed
// over first. An einsum of one operand is turned to the result's letters and those. Of an operand that has a
// letter more than once the diagonal alone is read; a result that has is zero but for its diagonal.
struct EinsumPlan {
  ops::SizedEinsum sized;
  std::string left, right, made;
  std::string left_alone, right_alone;
  int64_t batches, m, n, k;

  const std::string& operand(int i) const { return sized.equation.inputs[static_cast<size_t>(i)]; }
  const std::string& output() const { return sized.equation.output; }
  // Whether the result has elements off a diagonal.
  bool has_diagonal() const;
  int64_t CountOf(const std::string& labels) const;
  // Calls dim(extent, stride in `to`, stride in `from`) for the letters of `to`, outermost first: of dense
  // tensors of the same letters in another order.
  template <typename Fn>
  void ForEachDim(const std::string& from, const std::string& to, const Fn& dim) const {
    for (size_t i = 0; i < to.size(); ++i) {
      if (to.find(to[i]) == i) dim(sized.sizes.at(to[i]), Stride(to, to[i]), Stride(from, to[i]));
    }
  }

 private:
  // From one element of a diagonal to the next where the letter is there more than once.
  int64_t Stride(const std::string& labels, char label) const {
    int64_t stride = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label) stride += CountOf(labels.substr(i + 1));
    }
    return stride;
  }
};

class EinsumOp {
 public:
  explicit EinsumOp(const Node& node);
  EinsumPlan Plan(KernelContext& context) const;

 private:
  ops::EinsumEquation equation_;
};

}  // namespace lanescope::exec
