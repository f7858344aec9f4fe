#include "exec/kernels/patches.h"

#include <algorithm>
#include <cstring>

#include "exec/kernels/scratch.h"

namespace lanescope::exec {
namespace {

// Elements that the patches of a block are made of: well within a second-level cache, together with a panel
// of the filter.
constexpr int64_t kBlockElements = 160 * 1024;
constexpr double kLargestSlab = 1e9;  // one row of a hostile window must not ask for all memory
// Positions of a block over which reading the whole filter once more is spread.
constexpr int64_t kBlockPositions = 384;

bool StaysInside(const WindowDim& dim) {
  return dim.before == 0 && (dim.out - 1) * dim.stride + dim.reach() <= dim.in;
}

bool OneCell(const WindowDim& dim) {
  return dim.size == 1 && dim.stride == 1 && dim.before == 0 && dim.out == dim.in;
}

int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where a window is one cell, images do not matter: every cell is a row of its own.
ImageWindows Flattened(const ImageWindows& geometry) {
  if (!OneCell(geometry.rows) || !OneCell(geometry.columns)) return geometry;
  ImageWindows flat;
  flat.batch = 1;
  flat.channels = geometry.channels;
  flat.rows.in = flat.rows.out = geometry.positions();
  flat.columns.in = flat.columns.out = 1;
  return flat;
}

struct SlabMemory;
struct PatchPointers;

}  // namespace

template <typename T>
PatchSource<T>::PatchSource(const ImageWindows& geometry, const T* images)
    : geometry_(Flattened(geometry)), images_(images) {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  in_place_ = StaysInside(rows) && StaysInside(columns);
  width_ = in_place_ ? columns.in : (columns.out - 1) * columns.stride + columns.reach();
  const int64_t row_elements = std::max<int64_t>(1, width_ * geometry_.channels);
  if (!in_place_ && static_cast<double>(row_elements) * static_cast<double>(rows.reach()) > kLargestSlab) {
    Throw(Code::kResourceExhausted, "a window over {} x {} cells of {} channels is too large to be copied",
          rows.reach(), width_, geometry_.channels);
  }
  const int64_t fitting = (kBlockElements / row_elements - rows.reach()) / rows.stride + 1;
  const int64_t wanted = RoundUp(kBlockPositions, std::max<int64_t>(1, columns.out));
  const int64_t all_rows = std::max<int64_t>(1, rows.out);
  rows_per_block_ = std::clamp<int64_t>(std::min(fitting, wanted), 1, all_rows);
  blocks_per_image_ = RoundUp(all_rows, rows_per_block_);
  // Blocks of an image are of equal height, as far as that goes.
  rows_per_block_ = RoundUp(all_rows, blocks_per_image_);
  if (blocks_per_image_ == 1) {
    const int64_t fitting_images = kBlockElements / std::max<int64_t>(1, SlabRows(all_rows) * row_elements);
    images_per_block_ = std::clamp<int64_t>(std::min(fitting_images, RoundUp(wanted, all_rows)), 1,
                                            std::max<int64_t>(1, geometry_.batch));
  }
  num_blocks_ = RoundUp(geometry_.batch, images_per_block_) * blocks_per_image_;

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
  const int64_t image = index / blocks_per_image_ * images_per_block_;
  const int64_t row = index % blocks_per_image_ * rows_per_block_;
  return {image, std::min(images_per_block_, geometry_.batch - image), row,
          std::min(rows_per_block_, geometry_.rows.out - row)};
}

template <typename T>
PatchRuns PatchSource<T>::runs() const {
  return {run_offsets_.data(), static_cast<int64_t>(run_offsets_.size()), run_length_};
}

template <typename T>
const T* const* PatchSource<T>::Patches(const Block& block) const {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const int64_t row_elements = width_ * geometry_.channels;
  // From one image's first row to the next one's.
  const int64_t image_elements = (in_place_ ? rows.in : SlabRows(block.rows)) * row_elements;
  const T* base;
  if (in_place_) {
    base = images_ + (block.image * rows.in + block.row * rows.stride) * row_elements;
  } else {
    T* slab = ThreadScratch<SlabMemory, T>(block.images * image_elements);
    for (int64_t i = 0; i < block.images; ++i)
      FillSlab(block.image + i, block.row, SlabRows(block.rows), slab + i * image_elements);
    base = slab;
  }
  const T** patches = ThreadScratch<PatchPointers, const T*>(num_positions(block));
  const T** next = patches;
  for (int64_t i = 0; i < block.images; ++i) {
    for (int64_t r = 0; r < block.rows; ++r) {
      const T* patch = base + i * image_elements + r * rows.stride * row_elements;
      for (int64_t c = 0; c < columns.out; ++c, patch += columns.stride * geometry_.channels) *next++ = patch;
    }
  }
  return patches;
}

template <typename T>
void PatchSource<T>::FillSlab(int64_t image, int64_t row, int64_t slab_rows, T* slab) const {
  const WindowDim& rows = geometry_.rows;
  const WindowDim& columns = geometry_.columns;
  const int64_t channels = geometry_.channels;
  // Stored columns [first, last) land in the slab from cell `at` on.
  const int64_t first = std::max<int64_t>(0, -columns.before);
  const int64_t at = first + columns.before;
  const int64_t last = std::min(columns.in, first + std::max<int64_t>(0, width_ - at));
  for (int64_t r = 0; r < slab_rows; ++r) {
    T* to = slab + r * width_ * channels;
    const int64_t stored = row * rows.stride + r - rows.before;
    if (stored < 0 || stored >= rows.in || last <= first) {
      std::fill_n(to, width_ * channels, T(0));
      continue;
    }
    const T* from = images_ + ((image * rows.in + stored) * columns.in + first) * channels;
    std::fill_n(to, at * channels, T(0));
    std::memcpy(to + at * channels, from, static_cast<size_t>((last - first) * channels) * sizeof(T));
    const int64_t end = at + last - first;
    std::fill_n(to + end * channels, (width_ - end) * channels, T(0));
  }
}

template class PatchSource<float>;
template class PatchSource<double>;

}  // namespace lanescope::exec
