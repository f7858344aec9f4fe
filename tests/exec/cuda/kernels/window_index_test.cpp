// SPDX-License-Identifier: Apache-2.0
// Windows over images as CUDA kernels see them, against plain loops over cells and taps.
#include "exec/cuda/kernels/window_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanescope::exec::cuda {
namespace {

WindowAxis Axis(int64_t in, int64_t size, int64_t stride, int64_t before, int64_t after,
                int64_t dilation = 1) {
  WindowAxis axis;
  axis.in = in;
  axis.size = size;
  axis.stride = stride;
  axis.dilation = dilation;
  axis.before = before;
  const int64_t room = in + before + after - ((size - 1) * dilation + 1);
  axis.out = room < 0 ? 0 : room / stride + 1;
  return axis;
}

TEST(WindowAxis, CellsAndWindowsSeeEachOther) {
  for (int64_t in = 1; in < 9; ++in) {
    for (int64_t size = 1; size < 5; ++size) {
      for (int64_t stride = 1; stride < 5; ++stride) {
        for (int64_t pad = 0; pad < size; ++pad) {
          const WindowAxis axis = Axis(in, size, stride, pad, pad);
          for (int64_t cell = 0; cell < in; ++cell) {
            const CellRange windows = axis.WindowsOf(cell);
            for (int64_t window = 0; window < axis.out; ++window) {
              const CellRange cells = axis.CellsOf(window);
              const int64_t start = window * stride - pad;
              const bool sees = cell >= start && cell < start + size;
              ASSERT_EQ(cell >= cells.first && cell < cells.last, sees);
              ASSERT_EQ(window >= windows.first && window < windows.last, sees)
                  << "in " << in << " size " << size << " stride " << stride << " pad " << pad;
            }
          }
        }
      }
    }
  }
}

TEST(WindowAxis, GapsAndPaddingAreNoCells) {
  WindowAxis axis;
  axis.in = 3;
  axis.out = 5;
  axis.size = 2;
  axis.before = 1;
  axis.spread = 2;  // seen as x 0 x 0 x
  std::vector<int64_t> cells;
  for (int64_t seen = -1; seen < 6; ++seen) cells.push_back(axis.Cell(seen + 1, 0));
  EXPECT_EQ(cells, (std::vector<int64_t>{-1, 0, -1, 1, -1, 2, -1}));
}

TEST(PoolMap, PlacesAreOffsets) {
  const PoolMap map = MakePoolMap(2, Axis(5, 2, 2, 0, 1), Axis(7, 3, 1, 1, 1), 3);
  for (int64_t i = 0; i < map.outputs(); ++i) {
    const PoolMap::Place place = map.OutputPlace(i);
    ASSERT_EQ(map.OutputOffset(place.image, place.row, place.column, place.channel), i);
  }
  for (int64_t i = 0; i < map.inputs(); ++i) {
    const PoolMap::Place place = map.InputPlace(i);
    ASSERT_EQ(map.InputOffset(place.image, place.row, place.column, place.channel), i);
  }
}

TEST(PoolMap, WindowsOverCellsAreThoseOfTheAxes) {
  for (const int64_t stride : {1, 2, 3, 7}) {
    const PoolMap map = MakePoolMap(1, Axis(9, 4, stride, 1, 2), Axis(11, 2, stride, 0, 1), 1);
    for (int64_t row = 0; row < map.rows.in; ++row) {
      EXPECT_EQ(map.RowsOver(row).first, map.rows.WindowsOf(row).first);
      EXPECT_EQ(map.RowsOver(row).last, map.rows.WindowsOf(row).last);
    }
    for (int64_t column = 0; column < map.columns.in; ++column) {
      EXPECT_EQ(map.ColumnsOver(column).first, map.columns.WindowsOf(column).first);
      EXPECT_EQ(map.ColumnsOver(column).last, map.columns.WindowsOf(column).last);
    }
  }
}

struct Sizes {
  int64_t batch, channels, filters;
  WindowAxis rows, columns;
};

std::vector<double> RandomValues(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = static_cast<double>(random() % 19) - 9;
  return values;
}

// The product of the patch matrix and a filter: out[position, f].
std::vector<double> ByPatches(const Sizes& s, const std::vector<double>& images,
                              const std::vector<double>& filter, int64_t width) {
  const PatchMap map = MakePatchMap(s.rows, s.columns, s.channels, width);
  const int64_t patch = s.rows.size * s.columns.size * s.channels;
  const int64_t positions = s.batch * s.rows.out * s.columns.out;
  std::vector<double> out(static_cast<size_t>(positions * s.filters), 0);
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t t = 0; t < patch; ++t) {
      const int64_t source = map.Source(p * (patch / width) + t / width);
      if (source < 0) continue;
      const double value = images.at(static_cast<size_t>(source * width + t % width));
      for (int64_t f = 0; f < s.filters; ++f) {
        out[static_cast<size_t>(p * s.filters + f)] += value * filter[static_cast<size_t>(t * s.filters + f)];
      }
    }
  }
  return out;
}

// Calls fn(image offset, filter offset, output offset) for every product of a convolution.
template <typename Fn>
void ForEachProduct(const Sizes& s, const Fn& fn) {
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t orow = 0; orow < s.rows.out; ++orow) {
      for (int64_t ocol = 0; ocol < s.columns.out; ++ocol) {
        for (int64_t r = 0; r < s.rows.size; ++r) {
          for (int64_t c = 0; c < s.columns.size; ++c) {
            const int64_t row = orow * s.rows.stride + r * s.rows.dilation - s.rows.before;
            const int64_t column = ocol * s.columns.stride + c * s.columns.dilation - s.columns.before;
            if (row < 0 || row >= s.rows.in || column < 0 || column >= s.columns.in) continue;
            for (int64_t k = 0; k < s.channels; ++k) {
              for (int64_t f = 0; f < s.filters; ++f) {
                fn(((b * s.rows.in + row) * s.columns.in + column) * s.channels + k,
                   ((r * s.columns.size + c) * s.channels + k) * s.filters + f,
                   ((b * s.rows.out + orow) * s.columns.out + ocol) * s.filters + f);
              }
            }
          }
        }
      }
    }
  }
}

const Sizes kSizes[] = {
    {2, 3, 2, Axis(6, 3, 1, 1, 1), Axis(5, 3, 1, 1, 1)},
    {1, 4, 3, Axis(7, 2, 2, 0, 0), Axis(8, 3, 3, 1, 2)},
    {3, 1, 1, Axis(1, 1, 1, 0, 0), Axis(9, 3, 1, 0, 0)},
    {2, 8, 5, Axis(5, 1, 1, 0, 0), Axis(5, 1, 1, 0, 0)},
    {2, 2, 3, Axis(9, 3, 2, 2, 2, 2), Axis(7, 2, 1, 0, 1, 3)},
};

TEST(PatchMap, PatchesTimesFilterIsTheConvolution) {
  for (const Sizes& s : kSizes) {
    const auto images = RandomValues(s.batch * s.rows.in * s.columns.in * s.channels, 1);
    const auto filter = RandomValues(s.rows.size * s.columns.size * s.channels * s.filters, 2);
    std::vector<double> expected(static_cast<size_t>(s.batch * s.rows.out * s.columns.out * s.filters), 0);
    ForEachProduct(s, [&](int64_t i, int64_t f, int64_t o) {
      expected[static_cast<size_t>(o)] += images[static_cast<size_t>(i)] * filter[static_cast<size_t>(f)];
    });
    EXPECT_EQ(ByPatches(s, images, filter, 1), expected);
    if (s.channels % 4 == 0) {
      EXPECT_EQ(ByPatches(s, images, filter, 4), expected);
    }
  }
}

TEST(PatchMap, TheInputGradientIsTheTurnedConvolution) {
  for (const Sizes& s : kSizes) {
    const auto dy = RandomValues(s.batch * s.rows.out * s.columns.out * s.filters, 3);
    const auto filter = RandomValues(s.rows.size * s.columns.size * s.channels * s.filters, 4);
    std::vector<double> expected(static_cast<size_t>(s.batch * s.rows.in * s.columns.in * s.channels), 0);
    ForEachProduct(s, [&](int64_t i, int64_t f, int64_t o) {
      expected[static_cast<size_t>(i)] += dy[static_cast<size_t>(o)] * filter[static_cast<size_t>(f)];
    });
    const int64_t taps = s.rows.size * s.columns.size;
    std::vector<double> turned_filter(filter.size());
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t f = 0; f < s.filters; ++f) {
        for (int64_t k = 0; k < s.channels; ++k) {
          turned_filter[static_cast<size_t>((tap * s.filters + f) * s.channels + k)] =
              filter[static_cast<size_t>(((taps - 1 - tap) * s.channels + k) * s.filters + f)];
        }
      }
    }
    const Sizes turned{s.batch, s.filters, s.channels, s.rows.Turned(), s.columns.Turned()};
    EXPECT_EQ(ByPatches(turned, dy, turned_filter, 1), expected);
  }
}

}  // namespace
}  // namespace lanescope::exec::cuda
