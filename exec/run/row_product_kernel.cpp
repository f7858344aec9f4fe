// SPDX-License-Identifier: Apache-2.0
#include "exec/run/row_product_kernel.h"

#include <algorithm>

#include "core/graph/ops/shape_rules.h"
#include "exec/kernels/product.h"

namespace lanescope::exec {
namespace {

// By index of a matrix of so many elements.
template <typename T>
MatrixView<T> MatrixAt(const T* data, int64_t index, int64_t elements, int64_t stride, bool turned) {
  return {data + index * elements, stride, turned};
}

}  // namespace

RowProductKernel::RowProductKernel(const Node& node, const RowProduct& part, const MatrixBatch& matrices,
                                   const Shape& a, const Shape& b)
    : part_(part),
      matrices_(matrices),
      turn_a_(ops::MatMulRule(node).turn_a),
      turn_b_(ops::MatMulRule(node).turn_b),
      is_double_(node.TypeAttr(node.op == "BatchMatMulV3" ? "Ta" : "T") == DataType::kDouble) {
  const auto measure = [](const Shape& shape, int64_t* matrix, int64_t* stride) {
    *stride = shape[shape.rank() - 1];
    *matrix = shape[shape.rank() - 2] * *stride;
  };
  if (part_.matrices != 0) measure(a, &a_matrix_, &a_stride_);
  if (part_.matrices != 1) measure(b, &b_matrix_, &b_stride_);
  if (part_.part == ProductPart::kMakes) {
    inner_ = a_matrix_ / matrices_.rows;
  } else {
    const int64_t shared = part_.part == ProductPart::kSums ? matrices_.rows : matrices_.columns;
    width_ = (part_.matrices == 0 ? b_matrix_ : a_matrix_) / shared;
  }
}

void RowProductKernel::Run(int64_t first, int64_t n, const void* a, const void* b, void* result) const {
  if (is_double_) {
    RunBlock(first, n, static_cast<const double*>(a), static_cast<const double*>(b),
             static_cast<double*>(result));
  } else {
    RunBlock(first, n, static_cast<const float*>(a), static_cast<const float*>(b),
             static_cast<float*>(result));
  }
}

template <typename T>
void RowProductKernel::RunBlock(int64_t first, int64_t n, const T* a, const T* b, T* result) const {
  const int64_t matrix = matrices_.rows * matrices_.columns;
  for (int64_t done = 0; done < n;) {
    const int64_t within = (first + done) % matrix, part = std::min(n - done, matrix - within);
    const Rows rows{(first + done) / matrix, within / matrices_.columns, part / matrices_.columns};
    if (part_.matrices < 0) {
      MakeRows(rows, a, b, result + done);
    } else {
      RunRows(rows, (part_.matrices == 0 ? a : b) + done, part_.matrices == 0 ? b : a, result);
    }
    done += part;
  }
}

template <typename T>
void RowProductKernel::MakeRows(const Rows& rows, const T* a, const T* b, T* x) const {
  const MatrixView<T> left = MatrixAt(a, rows.matrix, a_matrix_, a_stride_, turn_a_);
  const MatrixView<T> right = MatrixAt(b, rows.matrix, b_matrix_, b_stride_, turn_b_);
  MultiplyTile(rows.count, matrices_.columns, inner_, From(left, rows.first, 0), right, false, x,
               matrices_.columns);
}

template <typename T>
void RowProductKernel::RunRows(const Rows& rows, const T* x, const T* other, T* result) const {
  const bool left = part_.matrices == 0;
  const int64_t columns = matrices_.columns;
  const MatrixView<T> block{x, columns, left ? turn_a_ : turn_b_};
  const MatrixView<T> factor = left ? MatrixAt(other, rows.matrix, b_matrix_, b_stride_, turn_b_)
                                    : MatrixAt(other, rows.matrix, a_matrix_, a_stride_, turn_a_);
  const bool more = rows.first > 0;
  if (part_.part == ProductPart::kByRows) {
    T* to = result + (rows.matrix * matrices_.rows + rows.first) * width_;
    MultiplyTile(rows.count, width_, columns, block, factor, false, to, width_);
  } else if (part_.part == ProductPart::kByColumns) {
    T* to = result + rows.matrix * matrices_.rows * width_ + rows.first;
    MultiplyTile(width_, rows.count, columns, factor, block, false, to, matrices_.rows);
  } else if (left) {
    T* to = result + rows.matrix * columns * width_;
    MultiplyTile(columns, width_, rows.count, block, From(factor, rows.first, 0), more, to, width_);
  } else {
    T* to = result + rows.matrix * columns * width_;
    MultiplyTile(width_, columns, rows.count, From(factor, 0, rows.first), block, more, to, columns);
  }
}

}  // namespace lanescope::exec
