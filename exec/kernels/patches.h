// SPDX-License-Identifier: Apache-2.0
// Patches of images for convolution, read where the images lie. Taps in the padding are left out rather than
// multiplied by zero: of small images they are a fifth of the work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/kernels/window.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

// Where the results of positions go: position (image, row, column) at data + image * image_step + row *
// row_step + column * column_step.
template <typename T>
struct PositionedOutput {
  T* data;
  int64_t image_step, row_step, column_step;
};

// Splits the positions of all images in blocks; immutable after construction. Positions count through
// columns, rows and images.
template <typename T>
class PatchSource {
 public:
  PatchSource(const ImageWindows& geometry, const T* images);

  // Some rows of positions of one image, or all rows of some images.
  struct Block {
    int64_t image, images;
    int64_t row, rows;
  };
  int64_t num_blocks() const { return num_blocks_; }
  Block block(int64_t index) const;
  int64_t first_position(const Block& block) const {
    return (block.image * geometry_.rows.out + block.row) * geometry_.columns.out;
  }
  int64_t num_positions(const Block& block) const {
    return block.images * block.rows * geometry_.columns.out;
  }

  // Positions whose windows have the same taps inside the image; of each the patch from its first such tap
  // on, which is element `element` of the whole one, and where its results go.
  struct Group {
    int64_t count;
    const T* const* patches;
    T* const* out;
    int64_t element;
    PatchTaps taps;
  };
  // All positions of the block. Valid until the calling thread asks for another block.
  std::span<const Group> Groups(const Block& block, const PositionedOutput<T>& out) const;

  // A patch is made of runs of contiguous elements, one after the other.
  int64_t run_length() const { return run_taps_ * geometry_.channels; }
  // One run of the patches of a block, from element `first` on: where each starts, and at which of the
  // block's positions. Left out are runs that lie in the padding; zeros are written out for those that do so
  // in part.
  struct Runs {
    int64_t count;
    const T* const* from;
    const int64_t* position;
  };
  // Valid until the calling thread asks for other runs.
  Runs RunsOf(const Block& block, int64_t run, int64_t first) const;

 private:
  // Outputs [first, last) of one dimension, whose windows have the taps [first_tap, last_tap) inside the
  // image.
  struct TapSpan {
    int64_t first, last;
    int64_t first_tap, last_tap;
  };
  static std::vector<TapSpan> SpansOf(const WindowDim& dim);

  const T* Row(int64_t image, int64_t row) const {
    return images_ + (image * geometry_.rows.in + row) * geometry_.in_row();
  }

  ImageWindows geometry_;
  const T* images_;
  std::vector<TapSpan> row_spans_, column_spans_;
  int64_t run_taps_;  // taps of one row that lie side by side and are taken together
  int64_t runs_per_row_;
  int64_t images_per_block_ = 1;
  int64_t rows_per_block_;
  int64_t blocks_per_image_;  // 1 where a block has several images
  int64_t num_blocks_;
};

}  // namespace lanescope::exec
