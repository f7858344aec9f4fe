// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/product_tiles.h"

#include <fmt/core.h>

#include "exec/cuda/fused_expression.h"

namespace lanescope::exec::cuda {
namespace {

// A thread has kMicro neighbouring rows of a tile and every kLanes-th of its columns: sixteen threads of a
// warp then read and write neighbours in memory. In shared memory the columns of a thread are neighbours.
constexpr std::string_view kTiles = R"(
constexpr int kLanes = 16, kMicro = kTile / kLanes, kDepth = 32, kPitch = kTile + 4;
// Elements of a row of a product's result that a thread sums up.
template <int width>
constexpr int kSums = (width + kTile - 1) / kTile * kMicro;
__device__ constexpr int PowerFrom(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}
struct alignas(kMicro * sizeof(T)) Part {
  T at[kMicro];
};
alignas(16) __shared__ T staged[2 * kDepth * kPitch];
alignas(16) __shared__ T tile[kTile * kPitch];

__device__ int Row() { return static_cast<int>(threadIdx.x) / kLanes * kMicro; }
__device__ int Lane() { return static_cast<int>(threadIdx.x) % kLanes; }
__device__ const Part& PartAt(const T* from) { return *reinterpret_cast<const Part*>(from); }

// to[k * pitch + i] = from[i * step_i + k * step_k], zero from i_end and k_end on. `apart`: the columns of a
// thread become neighbours. Threads of a warp read neighbours in memory, as far as there are such, and write
// to different banks: eight k by four i where k counts neighbours.
template <int count, int depth, int pitch, bool apart, long long step_i, long long step_k>
__device__ void Stage(T* to, const T* from, int i_end, int k_end) {
  constexpr int kNear = depth < 8 ? depth : 8;
  for (int n = static_cast<int>(threadIdx.x); n < count * depth; n += kThreads) {
    int i = n % count, k = n / count;
    if (step_k == 1) {
      const int rest = n / kNear;
      i = apart ? rest / kMicro % kLanes + rest % kMicro * kLanes : rest % count;
      k = n % kNear + rest / count * kNear;
    }
    const int place = apart ? i % kLanes * kMicro + i / kLanes : i;
    to[k * pitch + place] = i < i_end && k < k_end ? from[i * step_i + k * step_k] : T(0);
  }
}

// x = a b, a tile of so many rows and columns; zero beyond them. a[row * a_row + k * a_k], b likewise.
template <int inner, long long a_row, long long a_k, long long b_column, long long b_k>
__device__ void MakeTile(T (&x)[kMicro][kMicro], const T* a, const T* b, int rows, int columns) {
  T* const right = staged + kDepth * kPitch;
#pragma unroll
  for (int i = 0; i < kMicro; ++i) {
#pragma unroll
    for (int j = 0; j < kMicro; ++j) x[i][j] = T(0);
  }
  for (int from = 0; from < inner; from += kDepth) {
    __syncthreads();
    Stage<kTile, kDepth, kPitch, false, a_row, a_k>(staged, a + from * a_k, rows, inner - from);
    Stage<kTile, kDepth, kPitch, true, b_column, b_k>(right, b + from * b_k, columns, inner - from);
    __syncthreads();
    const int depth = inner - from < kDepth ? inner - from : kDepth;
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
      const Part of_a = PartAt(staged + k * kPitch + Row());
      const Part of_b = PartAt(right + k * kPitch + Lane() * kMicro);
#pragma unroll
      for (int i = 0; i < kMicro; ++i) {
#pragma unroll
        for (int j = 0; j < kMicro; ++j) x[i][j] += of_a.at[i] * of_b.at[j];
      }
    }
  }
}

// Puts x where AddProduct finds it: by columns for sums over columns, by rows for sums over rows.
template <bool over_rows>
__device__ void PutTile(const T (&x)[kMicro][kMicro]) {
  __syncthreads();
#pragma unroll
  for (int a = 0; a < kMicro; ++a) {
    Part part;
#pragma unroll
    for (int b = 0; b < kMicro; ++b) part.at[b] = over_rows ? x[a][b] : x[b][a];
    const int k = over_rows ? Row() + a : Lane() + a * kLanes;
    *reinterpret_cast<Part*>(tile + k * kPitch + (over_rows ? Lane() * kMicro : Row())) = part;
  }
}

// sum[i][w] += the tile's element (i, k) * other[k * step_k + w * step_w], over k < k_end.
template <int width, long long step_k, long long step_w>
__device__ void AddProduct(T (&sum)[kMicro][kSums<width>], const T* other, int k_end) {
  constexpr int kTiles = (width + kTile - 1) / kTile, kWide = kTiles * kTile, kWidePitch = kWide + 4;
  constexpr int kAtOnce = kTile / PowerFrom(kTiles);
  for (int from = 0; from < kTile && from < k_end; from += kAtOnce) {
    __syncthreads();
    Stage<kWide, kAtOnce, kWidePitch, false, step_w, step_k>(staged, other + from * step_k, width, k_end - from);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < kAtOnce; ++k) {
      const Part of_x = PartAt(tile + (from + k) * kPitch + Row());
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        const Part of_other = PartAt(staged + k * kWidePitch + t * kTile + Lane() * kMicro);
#pragma unroll
        for (int i = 0; i < kMicro; ++i) {
#pragma unroll
          for (int j = 0; j < kMicro; ++j) sum[i][t * kMicro + j] += of_x.at[i] * of_other.at[j];
        }
      }
    }
  }
}

// to[i * step_i + w * step_w] = sum[i][w]. `over_rows`: i counts the columns of the tile.
template <bool over_rows, int width, long long step_i, long long step_w>
__device__ void StoreSum(const T (&sum)[kMicro][kSums<width>], T* to, int i_end) {
#pragma unroll
  for (int a = 0; a < kMicro; ++a) {
    const int i = over_rows ? Row() / kMicro + a * kLanes : Row() + a;
    if (i >= i_end) continue;
#pragma unroll
    for (int b = 0; b < kSums<width>; ++b) {
      const int w = b / kMicro * kTile + Lane() * kMicro + b % kMicro;
      if (w < width) to[i * step_i + w * step_w] = sum[a][b];
    }
  }
}

// Joins the values of the threads that share a row, for each of them. All threads of the block call it.
template <typename Join, typename V>
__device__ V AcrossRow(V value) {
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
    value = Join()(value, __shfl_xor_sync(0xFFFFFFFFu, value, lanes));
  return value;
}

struct Larger {  // a NaN that came later never wins: it stays in the sum
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return b > a ? b : a;
  }
};

// The largest of the scores so far, and the sum of exp(score - largest) (Milakov and Gimelshein 2018). Equal
// ones are 1, infinite ones too.
template <typename V>
__device__ V Weight(V score, V most) {
  return score == most ? V(1) : f::Exp()(score - most);
}
template <typename V>
__device__ void TakeScore(V score, V& most, V& sum) {
  if (score > most) {
    sum = sum * Weight(most, score) + V(1);
    most = score;
  } else {
    sum += Weight(score, most);
  }
}
// The largest of the scores of all threads of a row, and of `most`.
template <typename V>
__device__ V LargestOf(const V (&scores)[kMicro], V most) {
#pragma unroll
  for (int j = 0; j < kMicro; ++j) most = Larger()(most, scores[j]);
  return AcrossRow<Larger>(most);
}
template <int width>
__device__ void ScaleSums(T (&sums)[kSums<width>], T scale) {
#pragma unroll
  for (int w = 0; w < kSums<width>; ++w) sums[w] *= scale;
}
// Joins what the threads of a row have. A row without a finite largest score has no sum: its softmax is NaN.
template <typename V>
__device__ void JoinScores(V& most, V& sum) {
  const V all = AcrossRow<Larger>(most);
  sum = AcrossRow<f::Add>(sum * Weight(most, all)) + (all - all);
  most = all;
}
)";

}  // namespace

int TileSize(DataType dtype) { return dtype == DataType::kDouble ? 32 : 64; }

std::string ProductTilesText(DataType dtype) {
  return fmt::format("\nusing T = {};\nconstexpr int kTile = {};\n{}", CTypeOf(dtype), TileSize(dtype),
                     kTiles);
}

}  // namespace lanescope::exec::cuda
