// Patches of images for convolution. Where a window stays inside the image its patches are read in place;
// otherwise a slab of a few image rows is copied with its zeros written out, small enough to stay in cache.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/kernels/window.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

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

  // Where the patch of each of the block's positions starts, valid until the calling thread asks for the next
  // block.
  const T* const* Patches(const Block& block) const;
  PatchRuns runs() const;

 private:
  int64_t SlabRows(int64_t rows) const { return (rows - 1) * geometry_.rows.stride + geometry_.rows.reach(); }
  void FillSlab(int64_t image, int64_t row, int64_t slab_rows, T* slab) const;

  ImageWindows geometry_;
  const T* images_;
  bool in_place_;
  int64_t width_;  // cells of one row of the image or slab
  int64_t images_per_block_ = 1;
  int64_t rows_per_block_;
  int64_t blocks_per_image_;  // 1 where a block has several images
  int64_t num_blocks_;
  std::vector<int64_t> run_offsets_;
  int64_t run_length_;
};

}  // namespace lanescope::exec
