// SPDX-License-Identifier: Apache-2.0
// Shapes of the operands of MatMul and BatchMatMul, for every kind of device.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/ops/shape_rules.h"
#include "core/graph/shape.h"

namespace lanescope::exec {

// The rule of one node. Leading dimensions are batches; those of V2 and V3 broadcast. Immutable.
class MatMulShape {
 public:
  // batch products of m x k by k x n.
  struct Product {
    int64_t m = 0, k = 0, n = 0;
    Shape batch;
    Shape result;
  };

  explicit MatMulShape(const Node& node) : rule_(node) {
    if (node.op != "BatchMatMulV3") return;
    const DataType type = node.TypeAttr("Tout");
    for (const char* operand : {"Ta", "Tb"}) {
      if (node.TypeAttr(operand) == type) continue;
      Throw(Code::kUnimplemented, "{} of {} and {} to {} has no kernel here; only of one type to the same",
            node.op, DataTypeName(node.TypeAttr("Ta")), DataTypeName(node.TypeAttr("Tb")),
            DataTypeName(type));
    }
  }

  bool turn_a() const { return rule_.turn_a; }
  bool turn_b() const { return rule_.turn_b; }

  // Throws InvalidArgument where they do not fit.
  Product Check(const Shape& a, const Shape& b) const {
    Product product;
    product.result = rule_.ResultOf(a, b);
    const int batches = product.result.rank() - 2;
    product.m = product.result[batches];
    product.k = a[a.rank() - (turn_a() ? 2 : 1)];
    product.n = product.result[batches + 1];
    product.batch = BatchOf(product.result);
    return product;
  }

  // Batch dimensions of an operand: all but the last two.
  static Shape BatchOf(const Shape& shape) { return Shape(shape.dims().first(shape.dims().size() - 2)); }

  // First element of the operand's matrix for a flat batch number of the result.
  static int64_t MatrixOffset(const Shape& operand, const Shape& batch, int64_t index) {
    const int rank = operand.rank() - 2;
    int64_t stride = operand[rank] * operand[rank + 1];
    int64_t offset = 0;
    for (int back = 1; back <= batch.rank(); ++back) {
      const int64_t size = batch[batch.rank() - back];
      if (back <= rank) {
        const int64_t own = operand[rank - back];
        if (own != 1) offset += index % size * stride;
        stride *= own;
      }
      index /= size;
    }
    return offset;
  }

 private:
  ops::MatMulRule rule_;
};

}  // namespace lanescope::exec
