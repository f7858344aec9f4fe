// Matrix products and convolutions on device memory; T is float or double.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/window_index.h"

namespace lanescope::exec::cuda {

class Launch;

// A batch of dense row-major matrices: rows are `row` elements apart, matrices `step` (0: one for all).
// `turned` uses each matrix transposed.
template <typename T>
struct MatrixBatch {
  const T* data;
  int64_t row;
  int64_t step;
  bool turned;
};

// c[i] = a[i] * b[i], or += where `add`; a: [m, k], b: [k, n] once turned, c dense.
template <typename T>
void RunProduct(Launch& launch, int64_t batches, int64_t m, int64_t n, int64_t k, const MatrixBatch<T>& a,
                const MatrixBatch<T>& b, T* c, bool add);

// Images [batch, rows.in, columns.in, channels], filters [rows.size, columns.size, channels, filters].
struct ConvSpec {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t filters = 0;
  WindowAxis rows;
  WindowAxis columns;

  int64_t patch() const { return rows.size * columns.size * channels; }
  int64_t positions() const { return batch * rows.out * columns.out; }
};

// Patches of blocks of positions are written out in scratch memory and multiplied there.
template <typename T>
void RunConvolution(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* out);
// `spec` is the forward convolution's; the gradient by the images is the convolution of dy, seen with its
// strides filled by zeros, with the filter turned by 180 degrees and channels and filters exchanged.
template <typename T>
void RunConvolutionInputGrad(Launch& launch, const ConvSpec& spec, const T* filter, const T* dy, T* dx);
template <typename T>
void RunConvolutionFilterGrad(Launch& launch, const ConvSpec& spec, const T* images, const T* dy, T* dfilter);

}  // namespace lanescope::exec::cuda
