// SPDX-License-Identifier: Apache-2.0
// Summaries that make drawing as cheap as the picture is wide, however many slices there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanescope::gui {

inline constexpr uint32_t kNoSlice = 0xffffffff;

// A summary of the slices of one row that touch a time range.
struct RangeSummary {
  int32_t op = -1;              // of the slice that covers most of the range; -1: none, or nameless
  double busy_ns = 0;           // of the range that slices cover
  uint32_t longest = kNoSlice;  // that slice; FromBins does not say
};

// The columns of one row's slices: equal sizes; disjoint, ascending. `first` is the lane's number of the
// first of them.
struct RowSlices {
  std::span<const int64_t> start, end;
  std::span<const int32_t> op;
  uint32_t first = 0;
};

// Over the slices of one row: a time pyramid of up to 2^16 bins of 8 bytes {op of the longest slice, busy
// share} with its coarser levels, and for stretches denser than that a summary of every 64 slices. Rows of
// few slices have none. Does not hold the slices. Value type; const use from any thread.
class RowSummary {
 public:
  RowSummary() = default;
  explicit RowSummary(const RowSlices& row);

  bool has_bins() const { return !levels_.empty(); }
  // Width of the finest bin (ns); 0: there are no bins.
  double bin_ns() const { return bin_ns_; }

  // Where a range is at least as wide as a bin: from the level whose bins are the widest that still fit. A
  // bin that the range covers in part counts in proportion. `op` is the one of the bin with most busy time.
  RangeSummary FromBins(double from_ns, double to_ns) const;
  // Exactly, by binary search; whole blocks of 64 slices at a time. Of slices that cover equally much, the
  // first.
  RangeSummary Exact(const RowSlices& row, int64_t from_ns, int64_t to_ns) const;
  size_t MemoryBytes() const;

 private:
  struct Bin {
    int32_t op = -1;
    float busy = 0;  // share
  };
  struct Block {
    int64_t busy_ns = 0;
    uint32_t longest = kNoSlice;
  };
  void FillBins(const RowSlices& row);
  void FillBlocks(const RowSlices& row);

  int64_t origin_ns_ = 0;
  double bin_ns_ = 0;
  std::vector<std::vector<Bin>> levels_;  // finest first; each has half the bins of the one before
  std::vector<Block> blocks_;
};

// Index of the first slice of a row that ends after `time`, and of the first that starts at or after it; size
// when there is none.
size_t FirstEndingAfter(std::span<const int64_t> end, int64_t time);
size_t FirstStartingFrom(std::span<const int64_t> start, int64_t time);

struct CounterRange {
  int64_t low = 0, high = 0;
  bool any = false;
};

// Min and max of a counter over any time range in logarithmic time. The counter holds value[i] from time[i]
// to time[i + 1], the last one for ever; before time[0] it holds nothing. Value type.
class CounterPyramid {
 public:
  CounterPyramid() = default;
  explicit CounterPyramid(std::span<const int64_t> value);
  // Over [from, to); `to` > `from`. `time` and `value` are those of the construction.
  CounterRange Range(std::span<const int64_t> time, std::span<const int64_t> value, int64_t from_ns,
                     int64_t to_ns) const;
  size_t MemoryBytes() const;

 private:
  struct Bounds {
    int64_t low = 0, high = 0;
  };
  // levels_[k][i]: of values [i * 2^(k+1), (i + 1) * 2^(k+1)).
  std::vector<std::vector<Bounds>> levels_;
};

}  // namespace lanescope::gui
