#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Max(int64_t n, const T* x, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

// The flag has the width of an element, so that both fill vectors alike.
template <typename T>
void MaxGrad(int64_t n, const T* x, const T* y, const T* dy, T* left, T* dx) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const bool hit = x[i] == y[i] && left[i] != T(0);
    dx[i] += hit ? dy[i] : T(0);
    left[i] = hit ? T(0) : left[i];
  }
}

template <typename T>
void AddTo(int64_t n, const T* x, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

template <typename T>
void AddScaled(int64_t n, T scale, const T* x, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

template <typename T>
void Scale(int64_t n, T scale, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

}  // namespace

void FillPool(Loops& loops) {
  loops.pool_float = {Max<float>, MaxGrad<float>, AddTo<float>, AddScaled<float>, Scale<float>};
  loops.pool_double = {Max<double>, MaxGrad<double>, AddTo<double>, AddScaled<double>, Scale<double>};
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
