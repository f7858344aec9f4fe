// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of CUDA kernels, which runs on the host too, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "exec/cuda/kernels/broadcast_map.h"
#include "exec/cuda/kernels/copy_map.h"
#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/pad_map.h"
#include "exec/cuda/kernels/search.h"
#include "exec/kernels/tensor_access.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::cuda {
namespace {

using test::BroadcastIndex;

TEST(Divider, DividesLikeTheProcessor) {
  std::mt19937_64 random(1);
  std::vector<int64_t> divisors = {
      1, 2, 3, 7, 10, 50, 641, 65535, 65536, 1 << 30, 0x7FFFFFFF, int64_t{1} << 31, int64_t{1} << 40};
  std::vector<int64_t> numbers = {
      0, 1, 2, 49, 50, 51, 0x7FFFFFFE, 0x7FFFFFFF, int64_t{1} << 31, int64_t{1} << 45};
  for (int i = 0; i < 200; ++i) {
    divisors.push_back(static_cast<int64_t>(random() >> (random() % 30 + 33)) + 1);
    numbers.push_back(static_cast<int64_t>(random() >> (random() % 40 + 20)));
  }
  for (const int64_t divisor : divisors) {
    const Divider divider(divisor);
    for (const int64_t number : numbers) {
      int64_t quotient = number;
      const int64_t rest = divider.Split(quotient);
      ASSERT_EQ(quotient, number / divisor) << number << " / " << divisor;
      ASSERT_EQ(rest, number % divisor) << number << " % " << divisor;
    }
    for (int64_t k = 1; k < 100 && k * divisor <= 0x7FFFFFFF; ++k) {  // around multiples
      ASSERT_EQ(divider.Quotient(k * divisor), k);
      ASSERT_EQ(divider.Quotient(k * divisor - 1), (k * divisor - 1) / divisor);
    }
  }
}

TEST(Divider, AnEmptyDimensionCountsAsOne) { EXPECT_EQ(Divider(0).Quotient(5), 5); }

Shape RandomShape(std::mt19937& random, int rank, int64_t most) {
  Shape shape;
  for (int d = 0; d < rank; ++d)
    shape.Append(static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1);
  return shape;
}

// `shape` with some dimensions turned to one and some leading ones left out.
Shape Narrowed(std::mt19937& random, const Shape& shape) {
  Shape narrow;
  const int first = static_cast<int>(random() % static_cast<uint64_t>(shape.rank() + 1));
  for (int d = first; d < shape.rank(); ++d) narrow.Append(random() % 3 == 0 ? 1 : shape[d]);
  return narrow;
}

TEST(BroadcastMap, FindsTheElementsThatBroadcastingShows) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = RandomShape(random, static_cast<int>(random() % 6), 5);
    const std::array<Shape, 3> operands = {shape, Narrowed(random, shape), Narrowed(random, shape)};
    const auto map = MakeBroadcastMap<3>(shape, operands);
    ASSERT_EQ(map.elements, shape.NumElements());
    for (int64_t i = 0; i < map.elements; ++i) {
      int64_t at[3];
      map.Offsets(i, at);
      for (size_t k = 0; k < 3; ++k)
        ASSERT_EQ(at[k], BroadcastIndex(operands[k], shape, i)) << shape.ToString();
    }
  }
}

TEST(BroadcastMap, MergesWhatBehavesAlike) {
  EXPECT_TRUE(MakeBroadcastMap<2>(Shape{4, 5, 6}, {Shape{4, 5, 6}, Shape{}}).flat);
  EXPECT_TRUE(MakeBroadcastMap<2>(Shape{1, 1}, {Shape{1}, Shape{1, 1}}).flat);
  const auto rows = MakeBroadcastMap<2>(Shape{4, 5, 6}, {Shape{4, 5, 6}, Shape{5, 6}});
  EXPECT_EQ(rows.dims, 2);
  EXPECT_EQ(rows.size[0].divisor(), 30);
  EXPECT_EQ(MakeBroadcastMap<2>(Shape{0, 3}, {Shape{0, 3}, Shape{3}}).elements, 0);
}

// Copies by the map, at every width that it allows.
std::vector<int> CopyBy(const CopyMap& map, const std::vector<int>& from, int64_t from_start, size_t to_size,
                        int64_t to_start, int64_t width) {
  std::vector<int> to(to_size, -1);
  const CopyMap wide = map.Widened(width);
  for (int64_t i = 0; i < wide.elements; ++i) {
    int64_t to_offset = 0;
    int64_t from_offset = 0;
    wide.Offsets(i, to_offset, from_offset);
    for (int64_t k = 0; k < width; ++k) {
      const auto at = static_cast<size_t>(to_start + to_offset * width + k);
      EXPECT_EQ(to.at(at), -1) << "written twice";
      to.at(at) = from.at(static_cast<size_t>(from_start + from_offset * width + k));
    }
  }
  return to;
}

std::vector<int> CountUp(int64_t n) {
  std::vector<int> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(CopyMap, TransposesOfEveryOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int rank = static_cast<int>(random() % 5);
    const Shape shape = RandomShape(random, rank, 6);
    std::vector<int> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    Shape turned;
    for (const int d : order) turned.Append(shape[d]);
    const auto from = StridesOf(shape);
    const auto to = StridesOf(turned);
    CopyMap map;
    for (int d = 0; d < rank; ++d) {
      map.AddDim(turned[d], to[static_cast<size_t>(d)],
                 from[static_cast<size_t>(order[static_cast<size_t>(d)])]);
    }
    std::vector<int> expected(static_cast<size_t>(shape.NumElements()));
    for (int64_t i = 0; i < turned.NumElements(); ++i) {
      int64_t rest = i;
      int64_t source = 0;
      for (int d = rank - 1; d >= 0; --d) {
        source += rest % turned[d] * from[static_cast<size_t>(order[static_cast<size_t>(d)])];
        rest /= turned[d];
      }
      expected[static_cast<size_t>(i)] = static_cast<int>(source);
    }
    const std::vector<int> source = CountUp(shape.NumElements());
    for (int64_t width = 1; width <= map.Widest(16); width *= 2) {
      ASSERT_EQ(CopyBy(map, source, 0, source.size(), 0, width), expected)
          << shape.ToString() << " width " << width;
    }
  }
}

TEST(CopyMap, RepeatsReversesAndLeavesOut) {
  CopyMap tile;  // [2, 3] tiled by [2, 2]: [4, 6]
  tile.AddDim(2, 12, 0);
  tile.AddDim(2, 6, 3);
  tile.AddDim(2, 3, 0);
  tile.AddDim(3, 1, 1);
  const std::vector<int> tiled = CopyBy(tile, CountUp(6), 0, 24, 0, 1);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(tiled[i], static_cast<int>(i / 6 % 2 * 3 + i % 3));

  CopyMap reversed;  // x[::-1] of 5
  reversed.AddDim(5, 1, -1);
  EXPECT_EQ(CopyBy(reversed, CountUp(5), 4, 5, 0, 1), (std::vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(reversed.Widest(16), 1);

  CopyMap rows;  // columns 4 to 7 of [3, 12]
  rows.AddDim(3, 4, 12);
  rows.AddDim(4, 1, 1);
  EXPECT_EQ(rows.Widest(16), 4);
  EXPECT_EQ(CopyBy(rows, CountUp(36), 4, 12, 0, 4),
            (std::vector<int>{4, 5, 6, 7, 16, 17, 18, 19, 28, 29, 30, 31}));

  CopyMap empty;
  empty.AddDim(3, 0, 0);
  empty.AddDim(0, 1, 1);
  EXPECT_EQ(empty.elements, 0);

  CopyMap scalar;
  EXPECT_EQ(scalar.elements, 1);
  EXPECT_EQ(CopyBy(scalar, {7}, 0, 1, 0, 1), std::vector<int>{7});
}

TEST(TileMap, CoversEveryElementOfATransposeOnce) {
  for (const Shape& shape : {Shape{33, 65}, Shape{3, 40, 50}, Shape{31, 2, 64}, Shape{8, 8}}) {
    const int last = shape.rank() - 1;
    const auto from = StridesOf(shape);
    Shape turned = shape;  // the first and the last dimension exchanged
    turned.set_dim(0, shape[last]);
    turned.set_dim(last, shape[0]);
    const auto to = StridesOf(turned);
    CopyMap map;
    for (int d = 0; d <= last; ++d) {
      const int source = d == 0 ? last : (d == last ? 0 : d);
      map.AddDim(turned[d], to[static_cast<size_t>(d)], from[static_cast<size_t>(source)]);
    }
    ASSERT_GE(map.TransposedDim(), 0) << shape.ToString();
    const TileMap tiles = MakeTileMap(map, map.TransposedDim());
    std::vector<int64_t> seen(static_cast<size_t>(shape.NumElements()), -1);
    for (int64_t index = 0; index < tiles.tiles(); ++index) {
      const TileMap::Tile tile = tiles.TileAt(index);
      for (int64_t r = tile.row; r < std::min(tile.row + TileMap::kTile, tiles.rows); ++r) {
        for (int64_t c = tile.column; c < std::min(tile.column + TileMap::kTile, tiles.columns); ++c) {
          int64_t& place = seen.at(static_cast<size_t>(tile.to + r * tiles.row_to + c));
          ASSERT_EQ(place, -1);
          place = tile.from + r + c * tiles.column_from;
        }
      }
    }
    for (int64_t i = 0; i < map.elements; ++i) {
      int64_t to_offset = 0;
      int64_t from_offset = 0;
      map.Offsets(i, to_offset, from_offset);
      ASSERT_EQ(seen[static_cast<size_t>(to_offset)], from_offset);
    }
  }
}

// One dimension: which of 4 elements [0, 4) stands at each place.
std::vector<int64_t> Padded(PadMode mode, int64_t before, int64_t after) {
  PadMap map;
  map.mode = mode;
  map.AddOuter(4, before, after);
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < map.elements; ++i) sources.push_back(map.Source(i));
  return sources;
}

TEST(PadMap, BordersOfEveryMode) {
  EXPECT_EQ(Padded(PadMode::kConstant, 2, 1), (std::vector<int64_t>{-1, -1, 0, 1, 2, 3, -1}));
  EXPECT_EQ(Padded(PadMode::kReflect, 3, 3), (std::vector<int64_t>{3, 2, 1, 0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(Padded(PadMode::kSymmetric, 4, 2), (std::vector<int64_t>{3, 2, 1, 0, 0, 1, 2, 3, 3, 2}));
}

TEST(PadMap, SeveralDimensions) {
  PadMap map;  // [2, 3] to [1 + 2 + 0, 0 + 3 + 2]
  map.AddOuter(3, 0, 2);
  map.AddOuter(2, 1, 0);
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < map.elements; ++i) sources.push_back(map.Source(i));
  EXPECT_EQ(sources, (std::vector<int64_t>{-1, -1, -1, -1, -1, 0, 1, 2, -1, -1, 3, 4, 5, -1, -1}));
}

TEST(GatherMap, RowsOfBatches) {
  const std::vector<int64_t> indices = {1, 0, 2, 5, -1, 2};  // [batch 2, 3]; two of them out of range
  GatherMap map;                                             // params [2, 2, 3, 4]
  map.inner = Divider(4);
  map.per_batch = Divider(3);
  map.outer = Divider(2);
  map.dimension = 3;
  map.elements = 2 * 2 * 3 * 4;
  const IndexReader reader{indices.data(), 8};
  for (int64_t i = 0; i < map.elements; ++i) {
    const int64_t column = i % 4;
    const int64_t at = i / 4 % 3;
    const int64_t outer = i / 12 % 2;
    const int64_t batch = i / 24;
    const int64_t index = indices[static_cast<size_t>(batch * 3 + at)];
    const int64_t expected = index < 0 || index >= 3 ? -1 : ((batch * 2 + outer) * 3 + index) * 4 + column;
    ASSERT_EQ(map.Source(i, reader), expected) << i;
  }
}

TEST(CoordinateMap, RowsByCoordinates) {
  const std::vector<int32_t> coordinates = {0, 0, 1, 2, 1, 3, -1, 0};
  CoordinateMap map;  // into [2, 3]
  map.depth = 2;
  map.extent[0] = 2;
  map.extent[1] = 3;
  map.stride[0] = 3;
  map.stride[1] = 1;
  const IndexReader reader{coordinates.data(), 4};
  EXPECT_EQ(map.RowOf(0, reader), 0);
  EXPECT_EQ(map.RowOf(1, reader), 5);
  EXPECT_EQ(map.RowOf(2, reader), -1);
  EXPECT_EQ(map.RowOf(3, reader), -1);
}

TEST(Search, AgreesWithTheLibrary) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> values(random() % 40);
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 10);
    std::sort(values.begin(), values.end());
    for (int64_t value = -1; value < 11; ++value) {
      const auto n = static_cast<int64_t>(values.size());
      ASSERT_EQ(LowerBound(values.data(), n, value),
                std::lower_bound(values.begin(), values.end(), value) - values.begin());
      ASSERT_EQ(UpperBound(values.data(), n, value),
                std::upper_bound(values.begin(), values.end(), value) - values.begin());
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::cuda
