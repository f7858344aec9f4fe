#include "exec/kernels/patches.h"

#include <algorithm>
#include <cstring>

namespace lanescope::exec {
namespace {

// Elements of a slab: half of a usual second-level cache, the rest is the filter's.
constexpr int64_t kSlabElements = 65536;
constexpr double kLargestSlab = 1e9;  // one output row of a hostile window must not ask for all memory
// Positions of a block that make handing it out worth while.
constexpr int64_t kBlockPositions = 384;

bool StaysInside(const WindowDim& dim) {
  return dim.before == 0 && (dim.out - 1) * dim.stride + dim.reach() <= dim.in;
}

}  // namespace

template <typename T>
PatchSource<T>::PatchSource(const PatchGeometry& geometry, const T* images)
    : geometry_(geometry), images_(images) {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  in_place_ =
      geometry_.row_spread == 1 && geometry_.column_spread == 1 && StaysInside(rows) && StaysInside(columns);
  width_ = in_place_ ? columns.in : (columns.out - 1) * columns.stride + columns.reach();
  const int64_t row_elements = std::max<int64_t>(1, width_ * geometry_.channels);
  if (!in_place_ && static_cast<double>(row_elements) * static_cast<double>(rows.reach()) > kLargestSlab) {
    Throw(Code::kResourceExhausted, "a window over {} x {} cells of {} channels is too large to be copied",
          rows.reach(), width_, geometry_.channels);
  }
  const int64_t fitting = (kSlabElements / row_elements - rows.reach()) / rows.stride + 1;
  const int64_t wanted = (kBlockPositions + columns.out - 1) / std::max<int64_t>(1, columns.out);
  rows_per_block_ = std::clamp<int64_t>(in_place_ ? wanted : fitting, 1, std::max<int64_t>(1, rows.out));
  blocks_per_image_ = (rows.out + rows_per_block_ - 1) / rows_per_block_;

  const int64_t channels = geometry_.channels;
  const bool whole_rows = columns.dilation == 1;  // the taps of one filter row are neighbours
  run_length_ = whole_rows ? columns.size * channels : channels;
  for (int64_t r = 0; r < rows.size; ++r) {
    for (int64_t c = 0; c < (whole_rows ? 1 : columns.size); ++c) {
      run_offsets_.push_back((r * rows.dilation * width_ + c * columns.dilation) * channels);
    }
  }
}

template <typename T>
typename PatchSource<T>::Block PatchSource<T>::block(int64_t index) const {
  const int64_t first = index % blocks_per_image_ * rows_per_block_;
  return {index / blocks_per_image_, first, std::min(rows_per_block_, geometry_.rows.out - first)};
}

template <typename T>
PatchRuns PatchSource<T>::runs() const {
  return {run_offsets_.data(), static_cast<int64_t>(run_offsets_.size()), run_length_,
          geometry_.columns.stride * geometry_.channels};
}

template <typename T>
const T* PatchSource<T>::Patches(const Block& block) const {
  const WindowDim& rows = geometry_.rows;
  if (in_place_) {
    const int64_t first = block.image * rows.in + block.first_row * rows.stride;
    return images_ + first * width_ * geometry_.channels;
  }
  thread_local std::vector<T> slab;
  const int64_t slab_rows = (block.rows - 1) * rows.stride + rows.reach();
  const auto elements = static_cast<size_t>(slab_rows * width_ * geometry_.channels);
  if (slab.size() < elements) slab.resize(elements);
  FillSlab(block, slab_rows, slab.data());
  return slab.data();
}

template <typename T>
void PatchSource<T>::FillSlab(const Block& block, int64_t slab_rows, T* slab) const {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const int64_t channels = geometry_.channels;
  const int64_t spread = geometry_.column_spread;
  // Stored columns [first, last) land in the slab from cell `at` on, `spread` cells apart.
  const int64_t first = columns.before < 0 ? (-columns.before + spread - 1) / spread : 0;
  const int64_t at = first * spread + columns.before;
  const int64_t room = width_ - at;
  const int64_t last = std::min(columns.in, room <= 0 ? first : first + (room + spread - 1) / spread);
  for (int64_t r = 0; r < slab_rows; ++r) {
    T* to = slab + r * width_ * channels;
    const int64_t seen = block.first_row * rows.stride + r - rows.before;
    const bool stored =
        seen >= 0 && seen % geometry_.row_spread == 0 && seen / geometry_.row_spread < rows.in;
    if (!stored || last <= first) {
      std::fill_n(to, width_ * channels, T(0));
      continue;
    }
    const int64_t row = block.image * rows.in + seen / geometry_.row_spread;
    const T* from = images_ + (row * columns.in + first) * channels;
    if (spread == 1) {
      std::fill_n(to, at * channels, T(0));
      std::memcpy(to + at * channels, from, static_cast<size_t>((last - first) * channels) * sizeof(T));
      const int64_t end = at + last - first;
      std::fill_n(to + end * channels, (width_ - end) * channels, T(0));
    } else {
      std::fill_n(to, width_ * channels, T(0));
      for (int64_t c = first; c < last; ++c) {
        std::memcpy(to + (at + (c - first) * spread) * channels, from + (c - first) * channels,
                    static_cast<size_t>(channels) * sizeof(T));
      }
    }
  }
}

template class PatchSource<float>;
template class PatchSource<double>;

}  // namespace lanescope::exec
