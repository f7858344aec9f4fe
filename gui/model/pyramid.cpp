// SPDX-License-Identifier: Apache-2.0
#include "gui/model/pyramid.h"

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

constexpr size_t kMaxBins = size_t{1} << 16;
// Rows of fewer slices are drawn one by one at every zoom.
constexpr size_t kMinSlices = 2048;
constexpr size_t kBlock = 64;

// Bytes of memory, of vectors of vectors.
template <typename T>
size_t Bytes(const std::vector<std::vector<T>>& levels) {
  size_t bytes = 0;
  for (const auto& level : levels) bytes += level.capacity() * sizeof(T) + sizeof(level);
  return bytes;
}

// Keeps the slice that covers most of a range.
class LongestFinder {
 public:
  LongestFinder(const RowSlices& row, int64_t from, int64_t to) : row_(row), from_(from), to_(to) {}
  void Look(size_t i) {
    const int64_t covered = std::min(row_.end[i], to_) - std::max(row_.start[i], from_);
    if (covered < 0 || covered <= best_) return;
    best_ = covered;
    found_ = i;
  }
  void Finish(RangeSummary* summary) const {
    if (best_ < 0) return;
    summary->longest = row_.first + static_cast<uint32_t>(found_);
    summary->op = row_.op[found_];
  }

 private:
  const RowSlices& row_;
  int64_t from_, to_;
  int64_t best_ = -1;
  size_t found_ = 0;
};

}  // namespace

size_t FirstEndingAfter(std::span<const int64_t> end, int64_t time) {
  return static_cast<size_t>(std::upper_bound(end.begin(), end.end(), time) - end.begin());
}

size_t FirstStartingFrom(std::span<const int64_t> start, int64_t time) {
  return static_cast<size_t>(std::lower_bound(start.begin(), start.end(), time) - start.begin());
}

RowSummary::RowSummary(const RowSlices& row) {
  if (row.start.size() < kMinSlices) return;
  FillBlocks(row);
  FillBins(row);
}

void RowSummary::FillBlocks(const RowSlices& row) {
  const size_t size = row.start.size();
  blocks_.resize((size + kBlock - 1) / kBlock);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    int64_t longest = -1;
    for (size_t i = b * kBlock; i < std::min(size, (b + 1) * kBlock); ++i) {
      const int64_t length = row.end[i] - row.start[i];
      block.busy_ns += length;
      if (length <= longest) continue;
      longest = length;
      block.longest = static_cast<uint32_t>(i);
    }
  }
}

void RowSummary::FillBins(const RowSlices& row) {
  const size_t size = row.start.size();
  const int64_t span = row.end.back() - row.start.front();
  if (span <= 0) return;
  size_t bins = kMaxBins;
  while (bins > size / 4) bins /= 2;
  origin_ns_ = row.start.front();
  bin_ns_ = static_cast<double>(span) / static_cast<double>(bins);
  levels_.emplace_back(bins);
  std::vector<Bin>& finest = levels_.front();
  std::vector<float> longest(bins, -1.0f);
  const double per_ns = 1 / bin_ns_;
  for (size_t i = 0; i < size; ++i) {
    const double from = static_cast<double>(row.start[i] - origin_ns_) * per_ns;
    const double to = static_cast<double>(row.end[i] - origin_ns_) * per_ns;
    for (auto bin = std::min(bins - 1, static_cast<size_t>(from)); bin < bins; ++bin) {
      const double left = std::max(from, static_cast<double>(bin));
      const auto covered =
          static_cast<float>(std::max(0.0, std::min(to, static_cast<double>(bin + 1)) - left));
      finest[bin].busy += covered;
      if (covered > longest[bin]) {
        longest[bin] = covered;
        finest[bin].op = row.op[i];
      }
      if (to <= static_cast<double>(bin + 1)) break;
    }
  }
  while (levels_.back().size() > 1) {
    const std::vector<Bin>& fine = levels_.back();
    std::vector<Bin> coarse(fine.size() / 2);
    for (size_t i = 0; i < coarse.size(); ++i) {
      const Bin &a = fine[2 * i], &b = fine[2 * i + 1];
      coarse[i].busy = (a.busy + b.busy) / 2;
      coarse[i].op = a.busy >= b.busy && a.busy > 0 ? a.op : b.op;
    }
    levels_.push_back(std::move(coarse));
  }
}

RangeSummary RowSummary::FromBins(double from_ns, double to_ns) const {
  RangeSummary summary;
  double from = (from_ns - static_cast<double>(origin_ns_)) / bin_ns_;
  double to = (to_ns - static_cast<double>(origin_ns_)) / bin_ns_;
  size_t level = 0;
  double width = 1;
  while (level + 1 < levels_.size() && to - from >= 2 * width) {
    ++level;
    width *= 2;
  }
  const std::vector<Bin>& bins = levels_[level];
  from = std::max(0.0, from / width);
  to = std::min(static_cast<double>(bins.size()), to / width);
  double best = -1, busy = 0;
  for (auto bin = static_cast<size_t>(from); bin < bins.size() && static_cast<double>(bin) < to; ++bin) {
    const double share =
        std::min(to, static_cast<double>(bin + 1)) - std::max(from, static_cast<double>(bin));
    const double covered = share * bins[bin].busy;
    busy += covered;
    if (bins[bin].busy <= 0 || covered <= best) continue;
    best = covered;
    summary.op = bins[bin].op;
  }
  summary.busy_ns = busy * bin_ns_ * width;
  return summary;
}

RangeSummary RowSummary::Exact(const RowSlices& row, int64_t from_ns, int64_t to_ns) const {
  RangeSummary summary;
  const size_t first = FirstEndingAfter(row.end, from_ns);
  const size_t last = FirstStartingFrom(row.start, to_ns);
  if (first >= last) return summary;
  LongestFinder longest(row, from_ns, to_ns);
  int64_t busy = 0;
  for (size_t i = first; i < last;) {
    if (i % kBlock == 0 && i + kBlock < last && i / kBlock < blocks_.size() && i > first) {
      busy += blocks_[i / kBlock].busy_ns;
      longest.Look(blocks_[i / kBlock].longest);
      i += kBlock;
      continue;
    }
    busy += std::min(row.end[i], to_ns) - std::max(row.start[i], from_ns);
    longest.Look(i);
    ++i;
  }
  longest.Finish(&summary);
  summary.busy_ns = static_cast<double>(busy);
  return summary;
}

size_t RowSummary::MemoryBytes() const { return Bytes(levels_) + blocks_.capacity() * sizeof(Block); }

CounterPyramid::CounterPyramid(std::span<const int64_t> value) {
  if (value.size() < 2) return;
  std::vector<Bounds> level(value.size() / 2);
  for (size_t i = 0; i < level.size(); ++i) {
    level[i] = {std::min(value[2 * i], value[2 * i + 1]), std::max(value[2 * i], value[2 * i + 1])};
  }
  while (!level.empty()) {
    std::vector<Bounds> next(level.size() / 2);
    for (size_t i = 0; i < next.size(); ++i) {
      next[i] = {std::min(level[2 * i].low, level[2 * i + 1].low),
                 std::max(level[2 * i].high, level[2 * i + 1].high)};
    }
    levels_.push_back(std::move(level));
    level = std::move(next);
  }
}

CounterRange CounterPyramid::Range(std::span<const int64_t> time, std::span<const int64_t> value,
                                   int64_t from_ns, int64_t to_ns) const {
  CounterRange range;
  const auto add = [&](int64_t low, int64_t high) {
    range.low = range.any ? std::min(range.low, low) : low;
    range.high = range.any ? std::max(range.high, high) : high;
    range.any = true;
  };
  // The value that holds at from_ns, and every one that begins before to_ns.
  const auto after = std::upper_bound(time.begin(), time.end(), from_ns);
  size_t i = after == time.begin() ? 0 : static_cast<size_t>(after - time.begin()) - 1;
  const size_t last = FirstStartingFrom(time, to_ns);
  while (i < last) {
    size_t level = 0;  // the largest aligned stretch that begins here
    while (level < levels_.size() && i % (size_t{2} << level) == 0 && i + (size_t{2} << level) <= last)
      ++level;
    if (level == 0) {
      add(value[i], value[i]);
      ++i;
    } else {
      const Bounds& bounds = levels_[level - 1][i / (size_t{1} << level)];
      add(bounds.low, bounds.high);
      i += size_t{1} << level;
    }
  }
  return range;
}

size_t CounterPyramid::MemoryBytes() const { return Bytes(levels_); }

}  // namespace lanescope::gui
