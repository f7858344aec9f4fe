// What a node of MatrixBandPart asks for, for every kind of device.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

// The diagonals from `lower` below to `upper` above the main one stay; the others become zeros.
struct MatrixBand {
  int64_t rows, columns, lower, upper;
};

// Of inputs (matrices, num_lower, num_upper), where a negative number keeps all. Throws InvalidArgument in
// TensorFlow's words.
MatrixBand ReadMatrixBand(const KernelContext& context);

}  // namespace lanescope::exec
