// SPDX-License-Identifier: Apache-2.0
// Rows combined by number in tiles, every column of every tile run on the host, against one row after the
// other.
#include "exec/cuda/kernels/segment_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lanescope::exec::cuda {
namespace {

struct Case {
  Combine how;
  bool store;
  int scaling;
};

// Sorted numbers of groups, some out of range at the end.
std::vector<int64_t> SortedKeys(std::mt19937& random, int64_t updates, int64_t rows) {
  std::vector<int64_t> keys(static_cast<size_t>(updates));
  for (int64_t& key : keys) {
    key = static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1));
    if (random() % 2 == 0) key = rows / 2;  // one group is long
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void RunCase(std::mt19937& random, const Case& c, int64_t updates, int64_t rows, int64_t inner) {
  const std::vector<int64_t> keys = SortedKeys(random, updates, rows);
  std::vector<int32_t> order(static_cast<size_t>(updates));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> data(static_cast<size_t>(updates * inner));
  for (int64_t& value : data) value = static_cast<int64_t>(random() % 7) + 1;
  std::vector<int64_t> target(static_cast<size_t>(rows * inner));
  for (int64_t& value : target) value = static_cast<int64_t>(random() % 9) + 5;
  std::vector<int64_t> expected = target;

  std::vector<int64_t> counts(static_cast<size_t>(rows), 0);
  for (int64_t i = 0; i < updates; ++i) {
    const int64_t row = keys[static_cast<size_t>(i)];
    if (row >= rows) continue;
    const int64_t seen = counts[static_cast<size_t>(row)]++;
    for (int64_t k = 0; k < inner; ++k) {
      int64_t& to = expected[static_cast<size_t>(row * inner + k)];
      const int64_t value = data[static_cast<size_t>(order[static_cast<size_t>(i)] * inner + k)];
      to = c.store && seen == 0 ? value : Combined(c.how, to, value);
    }
  }
  for (int64_t row = 0; row < rows && c.scaling == 1; ++row) {
    const int64_t count = counts[static_cast<size_t>(row)];
    for (int64_t k = 0; k < inner && count > 1; ++k) expected[static_cast<size_t>(row * inner + k)] /= count;
  }

  SegmentTiles<int64_t> tiles;
  tiles.how = c.how;
  tiles.store = c.store;
  tiles.scaling = c.scaling;
  tiles.updates = updates;
  tiles.rows = rows;
  tiles.data_rows = updates;
  tiles.inner = Divider(inner);
  tiles.keys = {keys.data(), 8};
  tiles.order = {order.data(), 4};
  tiles.data = data.data();
  tiles.target = target.data();
  std::vector<int64_t> heads(static_cast<size_t>(tiles.tiles() * inner));
  std::vector<int64_t> tails(heads.size());
  tiles.heads = heads.data();
  tiles.tails = tails.data();
  for (int64_t tile = tiles.tiles() - 1; tile >= 0; --tile) {
    for (int64_t column = 0; column < inner; ++column) tiles.RunTile(tile, column);
  }
  for (int64_t tile = tiles.tiles() - 1; tile >= 0; --tile) {
    for (int64_t column = 0; column < inner; ++column) tiles.JoinTile(tile, column);
  }
  ASSERT_EQ(target, expected) << "op " << static_cast<int>(c.how) << " updates " << updates << " rows "
                              << rows;
}

TEST(SegmentTiles, EveryOpOverSizesAroundTheTile) {
  std::mt19937 random(6);
  const Case cases[] = {
      {Combine::kAdd, true, 0},     {Combine::kAdd, false, 0}, {Combine::kSub, false, 0},
      {Combine::kMin, true, 0},     {Combine::kMax, false, 0}, {Combine::kAdd, true, 1},
      {Combine::kAssign, false, 0},
  };
  for (const Case& c : cases) {
    for (const int64_t updates : {1, 31, 32, 33, 64, 65, 96, 200, 1000}) {
      for (const int64_t rows : {1, 3, 40, 2000}) RunCase(random, c, updates, rows, 3);
    }
  }
}

TEST(SegmentTiles, ProductsAndQuotients) {
  std::mt19937 random(7);
  for (const int64_t updates : {1, 33, 70}) {
    for (int round = 0; round < 5; ++round) RunCase(random, {Combine::kMul, true, 0}, updates, 50, 2);
  }
  EXPECT_EQ(UpdatedRow(Combine::kDiv, 12.0, JoinRows(Combine::kDiv, 2.0, 3.0)), 2.0);
}

TEST(SegmentTiles, OneNumberForAllRows) {
  const std::vector<int64_t> keys = {0, 1, 1, 2};
  double update = 2.5;
  std::vector<double> target = {1, 1, 1};
  SegmentTiles<double> tiles;
  tiles.updates = 4;
  tiles.rows = 3;
  tiles.data_rows = 4;
  tiles.data_step = 0;
  tiles.inner = Divider(1);
  tiles.keys = {keys.data(), 8};
  tiles.data = &update;
  tiles.target = target.data();
  tiles.RunTile(0, 0);
  EXPECT_EQ(target, (std::vector<double>{3.5, 6, 3.5}));
}

TEST(SegmentTiles, RowsOfDataOutOfRangeCountAsZeros) {
  const std::vector<int32_t> keys = {0, 0, 0};
  const std::vector<int32_t> rows = {1, 9, -1};
  std::vector<float> data = {5, 7};
  float total = -1;
  SegmentTiles<float> tiles;
  tiles.store = true;
  tiles.updates = 3;
  tiles.rows = 1;
  tiles.data_rows = 2;
  tiles.inner = Divider(1);
  tiles.keys = {keys.data(), 4};
  tiles.order = {rows.data(), 4};
  tiles.data = data.data();
  tiles.target = &total;
  tiles.RunTile(0, 0);
  EXPECT_EQ(total, 7.0f);
}

}  // namespace
}  // namespace lanescope::exec::cuda
