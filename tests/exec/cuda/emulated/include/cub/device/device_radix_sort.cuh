// SPDX-License-Identifier: Apache-2.0
// Stands for CUB's header where there is no GPU.
#pragma once

#include <numeric>
#include <vector>

#include "tests/exec/cuda/emulated/emulator.h"

namespace cub {

struct DeviceRadixSort {
  // Stable, by bits [first_bit, end_bit) of the keys.
  template <typename Key, typename Value>
  static cudaError_t SortPairs(void* temporary, size_t& temporary_bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, int n, int first_bit, int end_bit,
                               cudaStream_t stream = nullptr) {
    if (temporary == nullptr) {
      temporary_bytes = 512 + static_cast<size_t>(n) / 8;
      return cudaSuccess;
    }
    lanescope::exec::emulator::streams->Enqueue(stream, [=, bytes = temporary_bytes] {
      std::memset(temporary, 0xEE, bytes);
      const auto part = [=](Key key) {
        const Key high = end_bit < static_cast<int>(8 * sizeof(Key)) ? (Key(1) << end_bit) - 1 : ~Key(0);
        return (key & high) >> first_bit;
      };
      std::vector<int> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return part(keys_in[a]) < part(keys_in[b]); });
      for (size_t i = 0; i < order.size(); ++i) {
        keys_out[i] = keys_in[order[i]];
        values_out[i] = values_in[order[i]];
      }
    });
    return cudaSuccess;
  }
};

}  // namespace cub
