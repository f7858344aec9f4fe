// SPDX-License-Identifier: Apache-2.0
#include "profiler/frame_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace lanescope::profiler {
namespace {

// Law: its memory is at most what the largest frame and a piece beside it take, whatever the pieces are, and
// what is done with leaves none.
TEST(FrameBufferTest, TakesNoMoreThanAFrameAndAPiece) {
  constexpr size_t kMost = 1000, kPiece = 64;
  FrameBuffer buffer(kMost);
  const std::string piece(kPiece, 'x');
  for (size_t size = 0; size < kMost; size += kPiece) {
    const size_t before = buffer.capacity(), growth = buffer.GrowthFor(kPiece);
    buffer.Append(piece);
    EXPECT_EQ(buffer.capacity(), before + growth);
    EXPECT_LE(buffer.capacity(), kMost + kPiece);
  }
  EXPECT_EQ(buffer.bytes().size(), 1024u);
  buffer.Take(1024);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.capacity(), 0u);
}

TEST(FrameBufferTest, KeepsTheRestInOrder) {
  FrameBuffer buffer(100);
  buffer.Append("abc");
  buffer.Append("def");
  buffer.Take(0);
  buffer.Take(4);
  EXPECT_EQ(buffer.bytes(), "ef");
  EXPECT_EQ(buffer.capacity(), 2u);
  buffer.Append("g");
  EXPECT_EQ(buffer.bytes(), "efg");
}

}  // namespace
}  // namespace lanescope::profiler
