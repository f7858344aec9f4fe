// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "exec/loops/fill.h"
#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// y[i] = of(load), i < n, where load(t) is the vector of tap t's elements.
template <typename T, typename Of>
void ForVectors(int64_t n, const int64_t* taps, const T* x, T* y, const Of& of) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, of([=](int64_t t) { return Load(x + taps[t] + i); }));
  if (i == n) return;
  const int64_t left = n - i;
  StoreSome(y + i, of([=](int64_t t) { return LoadSome(x + taps[t] + i, left); }), left);
}

template <typename T>
void Max(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, T* y) {
  ForVectors(n, taps, x, y, [=](const auto& load) {
    Vector<T> most = Vector<T>{} + std::numeric_limits<T>::lowest();
    for (int64_t t = 0; t < num_taps; ++t) {
      const Vector<T> value = load(t);
      most = value > most ? value : most;
    }
    return most;
  });
}

template <typename T>
void Mean(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, T* y) {
  const T share = T(1) / static_cast<T>(num_taps);
  ForVectors(n, taps, x, y, [=](const auto& load) {
    Vector<T> total = {};
    for (int64_t t = 0; t < num_taps; ++t) total += load(t);
    return total * share;
  });
}

template <typename T>
void WeightedSum(int64_t n, int64_t num_taps, const int64_t* taps, const T* weights, const T* x, T* y) {
  ForVectors(n, taps, x, y, [=](const auto& load) {
    Vector<T> total = {};
    for (int64_t t = 0; t < num_taps; ++t) total += weights[t] * load(t);
    return total;
  });
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

}  // namespace

void FillPool(Loops& loops) {
  loops.pool_float = {Max<float>, MaxGrad<float>, Mean<float>, WeightedSum<float>, AddTo<float>};
  loops.pool_double = {Max<double>, MaxGrad<double>, Mean<double>, WeightedSum<double>, AddTo<double>};
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
