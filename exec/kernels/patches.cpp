// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/patches.h"

#include <algorithm>

#include "exec/kernels/scratch.h"

namespace lanescope::exec {
namespace {

// Elements that the patches of a block are made of: well within a second-level cache, together with a panel
// of the filter.
constexpr int64_t kBlockElements = 160 * 1024;
// Positions of a block over which reading the whole filter once more is spread.
constexpr int64_t kBlockPositions = 384;
// A tap of few channels is taken together with its neighbours: alone it would leave registers unused.
constexpr int64_t kFewChannels = 12;
constexpr int64_t kMostTaps = 64;  // that are taken together

int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct GroupPatches;
struct GroupOutputs;
struct RunStarts;
struct RunPositions;
struct RunCopies;

}  // namespace

template <typename T>
std::vector<typename PatchSource<T>::TapSpan> PatchSource<T>::SpansOf(const WindowDim& dim) {
  if (dim.before == 0 && (dim.out - 1) * dim.stride + dim.reach() <= dim.in)
    return {{0, dim.out, 0, dim.size}};
  std::vector<TapSpan> spans;
  for (int64_t out = 0; out < dim.out; ++out) {
    const int64_t start = out * dim.stride - dim.before;
    const int64_t first = std::min(dim.size, start >= 0 ? 0 : RoundUp(-start, dim.dilation));
    const int64_t last =
        start >= dim.in ? first : std::min(dim.size, (dim.in - 1 - start) / dim.dilation + 1);
    if (!spans.empty() && spans.back().first_tap == first && spans.back().last_tap == std::max(first, last)) {
      spans.back().last = out + 1;
    } else {
      spans.push_back({out, out + 1, first, std::max(first, last)});
    }
  }
  return spans;
}

template <typename T>
PatchSource<T>::PatchSource(const ImageWindows& geometry, const T* images)
    : geometry_(geometry),
      images_(images),
      row_spans_(SpansOf(geometry.rows)),
      column_spans_(SpansOf(geometry.columns)) {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const bool together =
      columns.dilation == 1 && geometry_.channels < kFewChannels && columns.size <= kMostTaps;
  run_taps_ = together ? columns.size : 1;
  runs_per_row_ = together ? 1 : columns.size;

  const int64_t row_elements = std::max<int64_t>(1, geometry_.in_row());
  const int64_t fitting = (kBlockElements / row_elements - rows.reach()) / rows.stride + 1;
  const int64_t wanted = RoundUp(kBlockPositions, std::max<int64_t>(1, columns.out));
  const int64_t all_rows = std::max<int64_t>(1, rows.out);
  rows_per_block_ = std::clamp<int64_t>(std::min(fitting, wanted), 1, all_rows);
  blocks_per_image_ = RoundUp(all_rows, rows_per_block_);
  // Blocks of an image are of equal height, as far as that goes.
  rows_per_block_ = RoundUp(all_rows, blocks_per_image_);
  if (blocks_per_image_ == 1) {
    const int64_t fitting_images = kBlockElements / std::max<int64_t>(1, rows.in * row_elements);
    images_per_block_ = std::clamp<int64_t>(std::min(fitting_images, RoundUp(wanted, all_rows)), 1,
                                            std::max<int64_t>(1, geometry_.batch));
  }
  num_blocks_ = RoundUp(geometry_.batch, images_per_block_) * blocks_per_image_;
}

template <typename T>
typename PatchSource<T>::Block PatchSource<T>::block(int64_t index) const {
  const int64_t image = index / blocks_per_image_ * images_per_block_;
  const int64_t row = index % blocks_per_image_ * rows_per_block_;
  return {image, std::min(images_per_block_, geometry_.batch - image), row,
          std::min(rows_per_block_, geometry_.rows.out - row)};
}

template <typename T>
std::span<const typename PatchSource<T>::Group> PatchSource<T>::Groups(const Block& block,
                                                                       const PositionedOutput<T>& out) const {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const int64_t channels = geometry_.channels;
  thread_local std::vector<Group> groups;
  groups.clear();
  const T** patches = ThreadScratch<GroupPatches, const T*>(num_positions(block));
  T** results = ThreadScratch<GroupOutputs, T*>(num_positions(block));
  for (const TapSpan& y : row_spans_) {
    const int64_t first_row = std::max(y.first, block.row);
    const int64_t last_row = std::min(y.last, block.row + block.rows);
    if (first_row >= last_row) continue;
    for (const TapSpan& x : column_spans_) {
      const int64_t width = x.last_tap - x.first_tap;
      const bool whole_rows = columns.dilation == 1;  // the taps of one filter row are neighbours
      const bool empty = width == 0 || y.first_tap == y.last_tap;
      const PatchTaps taps{empty ? 0 : y.last_tap - y.first_tap,
                           rows.dilation * geometry_.in_row(),
                           columns.size * channels,
                           whole_rows ? 1 : width,
                           columns.dilation * channels,
                           whole_rows ? width * channels : channels};
      const int64_t count = block.images * (last_row - first_row) * (x.last - x.first);
      groups.push_back(
          {count, patches, results, (y.first_tap * columns.size + x.first_tap) * channels, taps});
      for (int64_t image = block.image; image < block.image + block.images; ++image) {
        for (int64_t row = first_row; row < last_row; ++row) {
          const T* patch = images_;
          if (!empty) {
            patch = Row(image, row * rows.stride - rows.before + y.first_tap * rows.dilation) +
                    (x.first * columns.stride - columns.before + x.first_tap * columns.dilation) * channels;
          }
          T* to = out.data + image * out.image_step + row * out.row_step + x.first * out.column_step;
          for (int64_t column = x.first; column < x.last; ++column) {
            *patches++ = patch;
            *results++ = to;
            if (!empty) patch += columns.stride * channels;
            to += out.column_step;
          }
        }
      }
    }
  }
  return groups;
}

template <typename T>
typename PatchSource<T>::Runs PatchSource<T>::RunsOf(const Block& block, int64_t run, int64_t first) const {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const int64_t channels = geometry_.channels;
  const T** from = ThreadScratch<RunStarts, const T*>(num_positions(block));
  int64_t* positions = ThreadScratch<RunPositions, int64_t>(num_positions(block));
  int64_t count = 0;
  // Output columns [whole, beyond) have all taps of the run inside the image.
  const int64_t shift = run % runs_per_row_ * columns.dilation - columns.before;
  const int64_t room = columns.in - shift - run_taps_;
  const int64_t whole = std::min(columns.out, shift >= 0 ? 0 : RoundUp(-shift, columns.stride));
  const int64_t beyond = std::max(whole, room < 0 ? 0 : std::min(columns.out, room / columns.stride + 1));
  T* copy = run_taps_ == 1 ? nullptr
                           : ThreadScratch<RunCopies, T>(block.images * block.rows * run_length() *
                                                         (columns.out - beyond + whole));
  const T* image_row = nullptr;
  const auto add_in_part = [&](int64_t column, int64_t position) {
    const int64_t start = column * columns.stride + shift;
    const int64_t inside = std::max<int64_t>(0, -start) * channels;
    const int64_t outside = std::min(run_taps_, columns.in - start) * channels;
    if (inside >= outside) return;
    for (int64_t i = 0; i < run_length(); ++i) {
      copy[i] = i >= inside && i < outside ? image_row[start * channels + i] : T(0);
    }
    from[count] = copy + first;
    positions[count++] = position;
    copy += run_length();
  };
  int64_t position = 0;  // of the row's first column
  for (int64_t image = block.image; image < block.image + block.images; ++image) {
    for (int64_t row = block.row; row < block.row + block.rows; ++row, position += columns.out) {
      const int64_t stored = row * rows.stride - rows.before + run / runs_per_row_ * rows.dilation;
      if (stored < 0 || stored >= rows.in) continue;
      image_row = Row(image, stored);
      if (run_taps_ > 1) {
        for (int64_t column = 0; column < whole; ++column) add_in_part(column, position + column);
      }
      const T* start = image_row + (whole * columns.stride + shift) * channels + first;
      const int64_t step = columns.stride * channels;
      for (int64_t i = 0; i < beyond - whole; ++i) {
        from[count + i] = start + i * step;
        positions[count + i] = position + whole + i;
      }
      count += beyond - whole;
      if (run_taps_ > 1) {
        for (int64_t column = beyond; column < columns.out; ++column) add_in_part(column, position + column);
      }
    }
  }
  return {count, from, positions};
}

template class PatchSource<float>;
template class PatchSource<double>;

}  // namespace lanescope::exec
