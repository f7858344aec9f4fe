// SPDX-License-Identifier: Apache-2.0
// Matrix products on host memory.
#pragma once

#include <cstdint>

#include "exec/device/kernel.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

// c[m][n] = a[m][k] * b[k][n], c dense; zeros for k = 0. The work is split by (m, n, k) alone, so that no
// number of workers changes a bit. `team` null: on the calling thread. T: float, double, int32_t and int64_t
// (which wrap around). Throws Unimplemented for real factors with dimensions over 2^31 - 1.
template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

}  // namespace lanescope::exec
