// SPDX-License-Identifier: Apache-2.0
#include "gui/model/join_pieces.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "core/base/error.h"

namespace lanescope::gui {
namespace {

bool Before(const RawSlice& a, const RawSlice& b) {
  return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
}

// Calls `sort(first, last)` for stretches that together sort the whole: slices are recorded step by step, so
// that most are near their place, and a stretch fits into the processor's cache.
template <typename Sort>
void SortByStretches(const std::vector<RawSlice>& slices, Sort sort) {
  std::vector<int64_t> least_from(slices.size() + 1, INT64_MAX);  // start of what comes at i or later
  for (size_t i = slices.size(); i-- > 0;) least_from[i] = std::min(least_from[i + 1], slices[i].start_ns);
  int64_t greatest = INT64_MIN;
  size_t first = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    greatest = std::max(greatest, slices[i].start_ns);
    if (greatest >= least_from[i + 1] && i + 1 < slices.size()) continue;
    if (i > first) sort(first, i + 1);
    first = i + 1;
  }
}

}  // namespace

RawLane::Piece JoinPieces(RawLane* raw) {
  RawLane::Piece all;
  if (raw->pieces.size() == 1) {
    all = std::move(raw->pieces.front());
  } else {
    size_t size = 0;
    for (const auto& piece : raw->pieces) size += piece.slices.size();
    all.slices.reserve(size);
    for (auto& piece : raw->pieces) {
      all.slices.insert(all.slices.end(), piece.slices.begin(), piece.slices.end());
      all.bytes.insert(all.bytes.end(), piece.bytes.begin(), piece.bytes.end());
      all.routes.insert(all.routes.end(), piece.routes.begin(), piece.routes.end());
      piece = {};
    }
  }
  raw->pieces.clear();
  if (all.slices.size() >= kNoSlice) {
    Throw(Code::kResourceExhausted, "the lane '{}' has {} slices, more than can be shown", raw->label,
          all.slices.size());
  }
  if (std::is_sorted(all.slices.begin(), all.slices.end(), Before)) return all;
  if (all.bytes.empty()) {
    const auto begin = all.slices.begin();
    SortByStretches(all.slices, [&](size_t first, size_t last) {
      std::stable_sort(begin + static_cast<ptrdiff_t>(first), begin + static_cast<ptrdiff_t>(last), Before);
    });
    return all;
  }
  std::vector<uint32_t> order(all.slices.size());
  std::iota(order.begin(), order.end(), 0);
  SortByStretches(all.slices, [&](size_t first, size_t last) {
    std::stable_sort(order.begin() + static_cast<ptrdiff_t>(first),
                     order.begin() + static_cast<ptrdiff_t>(last),
                     [&](uint32_t a, uint32_t b) { return Before(all.slices[a], all.slices[b]); });
  });
  RawLane::Piece sorted;
  sorted.slices.reserve(order.size());
  sorted.bytes.reserve(order.size());
  sorted.routes.reserve(all.routes.size());
  for (const uint32_t i : order) {
    sorted.slices.push_back(all.slices[i]);
    sorted.bytes.push_back(all.bytes[i]);
    if (!all.routes.empty()) sorted.routes.push_back(all.routes[i]);
  }
  return sorted;
}

}  // namespace lanescope::gui
