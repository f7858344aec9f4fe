// Rules of reader and decoding ops, for inference and kernels.
#pragma once

#include "core/graph/shape.h"

namespace lanescope::ops {

// Of DecodeCSV's record_defaults: a scalar, or up to one element. Throws InvalidArgument.
void CheckCsvDefault(const Shape& shape);

}  // namespace lanescope::ops
