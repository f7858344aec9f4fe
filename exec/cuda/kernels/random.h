// SPDX-License-Identifier: Apache-2.0
// Random tensors on device memory.
#pragma once

#include <cstdint>

#include "exec/kernels/random_groups.h"

namespace lanescope::exec::cuda {

class Launch;

// T: float or double. `start` is the place of the launch in its stream.
template <typename T>
void RunRandom(Launch& launch, Distribution distribution, const StreamStart& start, int64_t n, T* out);
// Integers in [low, low + range); T: int32 or int64.
template <typename T>
void RunRandomIntegers(Launch& launch, const StreamStart& start, int64_t low, uint64_t range, int64_t n,
                       T* out);

// Classes drawn from logits [rows, classes], `samples` a row; sums: [rows, classes] of scratch memory. T:
// float or double; Class: int32 or int64.
template <typename T, typename Class>
void RunMultinomial(Launch& launch, const StreamStart& start, int64_t rows, int64_t samples, int64_t classes,
                    const T* logits, double* sums, Class* out);

}  // namespace lanescope::exec::cuda
