// What MatMul and BatchMatMul ask of their operands, for every kind of device.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/graph/graph.h"
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

  explicit MatMulShape(const Node& node)
      : batches_(node.op != "MatMul"),
        broadcasts_(node.op != "BatchMatMul"),
        turn_a_(node.BoolAttr(batches_ ? "adj_x" : "transpose_a", false)),
        turn_b_(node.BoolAttr(batches_ ? "adj_y" : "transpose_b", false)) {
    if (node.op != "BatchMatMulV3") return;
    const DataType type = node.TypeAttr("Tout");
    for (const char* operand : {"Ta", "Tb"}) {
      if (node.TypeAttr(operand) == type) continue;
      Throw(Code::kUnimplemented, "{} of {} and {} to {} has no kernel here; only of one type to the same",
            node.op, DataTypeName(node.TypeAttr("Ta")), DataTypeName(node.TypeAttr("Tb")),
            DataTypeName(type));
    }
  }

  bool turn_a() const { return turn_a_; }
  bool turn_b() const { return turn_b_; }

  // Throws InvalidArgument with TensorFlow's texts.
  Product Check(const Shape& a, const Shape& b) const {
    const bool fits = batches_ ? a.rank() >= 2 && b.rank() >= 2 : a.rank() == 2 && b.rank() == 2;
    if (!fits) {
      Throw(Code::kInvalidArgument, "In[0] and In[1] have to be matrices{}, but they have shapes {} and {}",
            batches_ ? " or batches of them" : "", a.ToString(), b.ToString());
    }
    if (batches_ && !broadcasts_ && !(BatchOf(a) == BatchOf(b))) {
      Throw(Code::kInvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
            a.ToString(), b.ToString());
    }
    const int ra = a.rank() - 2;
    const int rb = b.rank() - 2;
    Product product;
    product.m = a[ra + (turn_a_ ? 1 : 0)];
    product.k = a[ra + (turn_a_ ? 0 : 1)];
    product.n = b[rb + (turn_b_ ? 0 : 1)];
    if (b[rb + (turn_b_ ? 1 : 0)] != product.k) {
      Throw(Code::kInvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.ToString(),
            b.ToString());
    }
    product.batch = BroadcastShapes(BatchOf(a), BatchOf(b));
    product.result = product.batch;
    product.result.Append(product.m);
    product.result.Append(product.n);
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
  bool batches_;
  bool broadcasts_;
  bool turn_a_;
  bool turn_b_;
};

}  // namespace lanescope::exec
