// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/blas.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";

// Sets an environment variable that its user left open, for the lifetime of this object.
class DefaultVariable {
 public:
  DefaultVariable(const char* name, const char* value) : name_(name), ours_(std::getenv(name) == nullptr) {
    if (ours_) setenv(name, value, 1);
  }
  ~DefaultVariable() {
    if (ours_) unsetenv(name_);
  }
  DefaultVariable(const DefaultVariable&) = delete;
  DefaultVariable& operator=(const DefaultVariable&) = delete;

 private:
  const char* name_;
  bool ours_;
};

// OpenBLAS knows processors by model and takes kernels of 2004 for any that is newer than itself (0.3.21 of
// Debian 12 does so from Sapphire Rapids on, at a quarter of the speed), so the instruction set decides here.
const char* CoreType() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return "SKYLAKEX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
  return "";
}

template <typename Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) Throw(Code::kFailedPrecondition, "{} lacks {}", kLibrary, name);
}

Blas Load() {
  void* library = nullptr;
  {
    const DefaultVariable core("OPENBLAS_CORETYPE", CoreType());
    const DefaultVariable threads("OPENBLAS_NUM_THREADS", "1");  // it would start them when loaded
    library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    Throw(Code::kFailedPrecondition, "matrix products need OpenBLAS: {}; install libopenblas0-pthread",
          dlerror());
  }
  Blas blas;
  Find(library, "cblas_sgemm", &blas.sgemm);
  Find(library, "cblas_dgemm", &blas.dgemm);
  Find(library, "cblas_sgemv", &blas.sgemv);
  Find(library, "cblas_dgemv", &blas.dgemv);
  // Overrides the environment: a device splits products over its own workers.
  void (*set_num_threads)(int) = nullptr;
  Find(library, "openblas_set_num_threads", &set_num_threads);
  set_num_threads(1);
  return blas;
}

}  // namespace

const Blas& HostBlas() {
  static const Blas blas = Load();
  return blas;
}

}  // namespace lanescope::exec
