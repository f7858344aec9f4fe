#include "exec/loops/fill.h"
#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Max(int64_t n, const T* x, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

// Vectors of channels, so that what is still without a taker stays in a register from tap to tap.
template <typename T>
void MaxGrad(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, const T* y, const T* dy, T* dx) {
  int64_t c = 0;
  for (; c + kVectorLanes<T> <= n; c += kVectorLanes<T>) {
    const Vector<T> most = Load(y + c);
    Vector<T> left = Load(dy + c);
    for (int64_t t = 0; t < num_taps; ++t) {
      const int64_t at = taps[t] + c;
      const auto hit = Load(x + at) == most;
      const Vector<T> none = {};
      Store(dx + at, Load(dx + at) + (hit ? left : none));
      left = hit ? none : left;
    }
  }
  for (; c < n; ++c) {
    int64_t t = 0;
    while (t < num_taps && !(x[taps[t] + c] == y[c])) ++t;
    if (t < num_taps) dx[taps[t] + c] += dy[c];
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
