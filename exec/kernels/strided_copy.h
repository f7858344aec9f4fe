// SPDX-License-Identifier: Apache-2.0
// One loop nest behind slices, transposes, tiles, broadcasts, concatenations and pads: a copy between two
// strided views of the same extents.
#pragma once

#include <array>
#include <cstdint>

#include "exec/device/kernel.h"

namespace lanescope::exec {

// The extents of both views and their strides in elements, outermost dimension first. A source stride may be
// zero (broadcast) or negative (reversal); destination elements must be distinct. Value type.
class StridedCopy {
 public:
  // Room for a tile: two dimensions for each of a tensor's.
  static constexpr int kMaxDims = 2 * Shape::kMaxRank;

  void AddDim(int64_t extent, int64_t destination_stride, int64_t source_stride);
  // `destination` and `source` point at the views' first elements. Splits the work over the team.
  void Run(DataType dtype, void* destination, const void* source, WorkerTeam& team) const;

 private:
  struct Dimension {
    int64_t extent, destination_stride, source_stride;
  };

  template <typename T>
  void RunRows(T* destination, const T* source, WorkerTeam& team) const;
  template <typename T>
  void RunTransposed(int column_dim, T* destination, const T* source, WorkerTeam& team) const;
  // A dimension other than the last whose source elements are adjacent while the last one's are not; -1:
  // none.
  int TransposedDim() const;
  bool empty() const { return empty_; }

  // Without dimensions of extent one; neighbours that form one dimension in both views are merged.
  std::array<Dimension, kMaxDims> dims_{};
  int count_ = 0;
  bool empty_ = false;
};

}  // namespace lanescope::exec
