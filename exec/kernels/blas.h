// SPDX-License-Identifier: Apache-2.0
// OpenBLAS, loaded at the first product.
#pragma once

#include <cblas.h>

namespace lanescope::exec {

// The functions that kernels call. Each runs on the calling thread alone.
struct Blas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&cblas_sgemv) sgemv;
  decltype(&cblas_dgemv) dgemv;
};

// Loads the library at the first call; safe from any thread. Throws FailedPrecondition when it is not
// installed.
const Blas& HostBlas();

}  // namespace lanescope::exec
