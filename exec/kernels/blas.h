// Matrix products on host memory. Dense row-major matrices with leading dimensions; blocks run on one thread
// each, so that the team alone decides what runs in parallel.
#pragma once

#include <cstdint>

#include "exec/kernel.h"

namespace lanescope::exec {

template <typename T>
struct MatrixView {
  const T* data;
  int64_t stride;   // elements from one stored row to the next
  bool transposed;  // the factor is the transpose of what is stored
};

// One product on the calling thread: c[m][n] = a[m][k] * b[k][n], c's rows c_stride apart. Zero-filled for k
// = 0.
template <typename T>
void Multiply(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride);

// How one product is cut in blocks, by its size alone: along rows of c or along columns.
struct ProductBlocks {
  bool by_rows;
  int64_t size;   // rows (columns) of a block
  int64_t count;  // blocks
};
ProductBlocks BlocksOf(int64_t m, int64_t n, int64_t k);

// Block `index` of the product.
template <typename T>
void MultiplyBlock(const ProductBlocks& blocks, int64_t index, int64_t m, int64_t n, int64_t k,
                   MatrixView<T> a, MatrixView<T> b, T* c);

}  // namespace lanescope::exec
