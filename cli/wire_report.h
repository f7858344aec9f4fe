// SPDX-License-Identifier: Apache-2.0
// Tables of a comparison of formats between tasks.
#pragma once

#include "study/compare/comparison.h"

namespace lanescope::cli {

// Messages, bytes, step time and the loss over steps of every row, rows of another format beside those of
// float32. Nothing for a comparison without other formats.
void PrintWire(const study::Comparison& comparison);

}  // namespace lanescope::cli
