// SPDX-License-Identifier: Apache-2.0
// Indices that name rows of a tensor: their checks, and how work on rows is split so that results depend on
// nothing but the inputs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exec/kernels/gather_plan.h"

namespace lanescope::exec {

inline constexpr int64_t kRowBlockBytes = 1 << 18;
// How many rows ahead a gather asks the memory for: random rows of a large table come from main memory.
inline constexpr int64_t kPrefetchRows = 12;

// Asks for every cache line of a row that is needed soon.
inline void PrefetchRow(const void* row, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(static_cast<const char*>(row) + at, 1);
}

// Throws InvalidArgument "NAME[i,j] = v is not in [0, limit)" for the first index out of range.
void CheckIndices(std::string_view name, const TensorRef& indices, int64_t limit);

// Where the rows that an index of coordinates names begin, in elements of `shape`. Throws InvalidArgument
// "NAME[i] = [a, b] does not index into WHAT S".
std::vector<int64_t> RowOffsets(std::string_view name, const CoordinateRows& rows, const TensorRef& indices,
                                const Shape& shape, std::string_view what);

// Updates sorted by the range of rows that they write: a scatter gives each range to one worker, so that no
// two write one row and every row sees its updates in the order of the indices, however many workers there
// are.
class RowRanges {
 public:
  // Update number i writes row row_of(i) of `rows`; a negative row is left out. `inner`: elements of a row.
  template <typename RowOf>
  RowRanges(int64_t rows, int64_t updates, int64_t inner, const RowOf& row_of) : rows_(rows) {
    constexpr int64_t kElements = 1 << 17;  // updated by one worker at a time
    constexpr int64_t kMaxRanges = 16;
    const int64_t wanted = std::clamp<int64_t>(updates * inner / kElements, 1, kMaxRanges);
    shift_ = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, rows - 1) / wanted));
    first_.assign(static_cast<size_t>(rows == 0 ? 0 : ((rows - 1) >> shift_) + 1) + 1, 0);
    for (int64_t i = 0; i < updates; ++i) {
      if (row_of(i) >= 0) ++first_[static_cast<size_t>(row_of(i) >> shift_) + 1];
    }
    for (size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
    sorted_.resize(static_cast<size_t>(first_.back()));
    std::vector<int64_t> next(first_.begin(), first_.end() - 1);
    for (int64_t i = 0; i < updates; ++i) {
      if (row_of(i) >= 0) sorted_[static_cast<size_t>(next[static_cast<size_t>(row_of(i) >> shift_)]++)] = i;
    }
  }

  // Calls fn(first_row, last_row, updates) for every range, possibly at the same time.
  template <typename Fn>
  void ForEach(WorkerTeam& team, const Fn& fn) const {
    team.ParallelFor(static_cast<int64_t>(first_.size()) - 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const auto from = static_cast<size_t>(first_[static_cast<size_t>(r)]);
        const auto to = static_cast<size_t>(first_[static_cast<size_t>(r) + 1]);
        fn(r << shift_, std::min(rows_, (r + 1) << shift_),
           std::span<const int64_t>(sorted_.data() + from, to - from));
      }
    });
  }

 private:
  int64_t rows_;
  int shift_;                    // a range has 2^shift_ rows
  std::vector<int64_t> first_;   // of each range, into sorted_
  std::vector<int64_t> sorted_;  // update numbers by range, in order
};

}  // namespace lanescope::exec
