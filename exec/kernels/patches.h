// Patches of images for convolution. Where a window stays inside the image its patches are read in place;
// otherwise a slab of a few image rows is copied with its zeros written out, small enough to stay in cache.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/kernels/window.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

// Images [batch, rows.in, columns.in, channels] under windows. With spread > 1 the image is seen with spread
// - 1 zeros between its cells (how a strided convolution's gradient looks); `in` still counts stored cells.
struct PatchGeometry {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowDim rows;
  WindowDim columns;
  int64_t row_spread = 1;
  int64_t column_spread = 1;

  int64_t patch_elements() const { return rows.size * columns.size * channels; }
};

// Splits the output rows of all images in blocks; immutable after construction.
template <typename T>
class PatchSource {
 public:
  PatchSource(const PatchGeometry& geometry, const T* images);

  struct Block {
    int64_t image;
    int64_t first_row;  // of the output
    int64_t rows;
  };
  int64_t num_blocks() const { return geometry_.batch * blocks_per_image_; }
  Block block(int64_t index) const;

  // The patches of the block's first position, valid until the calling thread asks for the next block.
  const T* Patches(const Block& block) const;
  PatchRuns runs() const;
  // Elements between the patches of one output row and the next.
  int64_t row_step() const { return geometry_.rows.stride * width_ * geometry_.channels; }

 private:
  void FillSlab(const Block& block, int64_t slab_rows, T* slab) const;

  PatchGeometry geometry_;
  const T* images_;
  bool in_place_;
  int64_t width_;  // cells of one row of the image or slab
  int64_t rows_per_block_;
  int64_t blocks_per_image_;
  std::vector<int64_t> run_offsets_;
  int64_t run_length_;
};

}  // namespace lanescope::exec
