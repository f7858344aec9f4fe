// Einsum of one or two operands, for every kind of device: both are turned so that a batch of matrix products
// is left, and the result is turned as the equation says.
#pragma once

#include <map>
#include <string>

#include "core/graph/ops/einsum.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// By letters, what the operands are turned to: [batch, left, summed] and [batch, summed, right] make
// [batch, left, right].
struct EinsumPlan {
  const ops::EinsumEquation* equation;
  std::map<char, Dim> sizes;
  std::string left, right, made;
  int64_t batches, m, n, k;

  int64_t CountOf(const std::string& labels) const;
  // Calls dim(extent, stride in `to`, stride in `from`) for the dimensions of `to`, outermost first: of dense
  // tensors of the same letters in another order.
  template <typename Fn>
  void ForEachDim(const std::string& from, const std::string& to, const Fn& dim) const {
    for (const char label : to) dim(sizes.at(label), Stride(to, label), Stride(from, label));
  }

 private:
  int64_t Stride(const std::string& labels, char label) const {
    return CountOf(labels.substr(labels.find(label) + 1));
  }
};

class EinsumOp {
 public:
  explicit EinsumOp(const Node& node);
  EinsumPlan Plan(KernelContext& context) const;

 private:
  void CheckInOutput(const std::string& name, char label) const;

  ops::EinsumEquation equation_;
  std::string batch_, left_, right_, summed_;
};

}  // namespace lanescope::exec
