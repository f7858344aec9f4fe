// SPDX-License-Identifier: Apache-2.0
#include "profiler/batch_codec.h"

#include <gtest/gtest.h>

#include <random>

namespace lanescope::profiler {
namespace {

traces::ActivityBatch SampleBatch() {
  traces::ActivityBatch batch;
  batch.pid = 77;
  batch.program = batch.AddText("program");
  traces::KernelRow kernel;
  kernel.start = 10;
  kernel.end = 20;
  kernel.name = batch.AddText("kernel");
  batch.kernels = {kernel, kernel};
  traces::MemcpyRow copy;
  copy.bytes = 1 << 20;
  batch.copies.push_back(copy);
  traces::NvtxRow range;
  range.text = batch.AddText("range");
  batch.ranges.push_back(range);
  traces::NvlinkRow link;
  link.device0 = link.device1 = batch.AddText("GPU-1");
  batch.nvlinks.push_back(link);
  batch.Count(traces::Loss::kDropped, 5);
  return batch;
}

TEST(BatchCodecTest, ABatchComesBackAsItWas) {
  const traces::ActivityBatch batch = SampleBatch();
  const std::string bytes = EncodeBatch(batch);
  traces::ActivityBatch read;
  ASSERT_TRUE(DecodeBatch(bytes, &read));
  EXPECT_EQ(read.pid, 77u);
  EXPECT_EQ(read.texts, batch.texts);
  EXPECT_EQ(read.losses, batch.losses);
  ASSERT_EQ(read.kernels.size(), 2u);
  EXPECT_EQ(read.texts[read.kernels[1].name], "kernel");
  EXPECT_EQ(read.copies[0].bytes, 1u << 20);
  EXPECT_EQ(read.texts[read.nvlinks[0].device1], "GPU-1");
  EXPECT_EQ(EncodeBatch(read), bytes);
}

TEST(BatchCodecTest, EveryPrefixAndEveryExtensionIsRefused) {
  const std::string bytes = EncodeBatch(SampleBatch());
  traces::ActivityBatch read;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeBatch(std::string_view(bytes).substr(0, size), &read)) << size;
  }
  EXPECT_FALSE(DecodeBatch(bytes + "x", &read));
}

TEST(BatchCodecTest, TextsThatAreNotThereAreRefused) {
  traces::ActivityBatch batch = SampleBatch();
  batch.kernels[0].name = static_cast<traces::TextId>(batch.texts.size());
  traces::ActivityBatch read;
  EXPECT_FALSE(DecodeBatch(EncodeBatch(batch), &read));
  batch = SampleBatch();
  batch.program = 1000;
  EXPECT_FALSE(DecodeBatch(EncodeBatch(batch), &read));
  batch = SampleBatch();
  batch.losses[0] = -1;
  EXPECT_FALSE(DecodeBatch(EncodeBatch(batch), &read));
}

// However bytes are changed, what decodes names only texts that exist; no count makes it reserve what is not
// there.
TEST(BatchCodecTest, ChangedBytesAreSafe) {
  const std::string bytes = EncodeBatch(SampleBatch());
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    traces::ActivityBatch read;
    if (!DecodeBatch(changed, &read)) continue;
    for (const traces::KernelRow& row : read.kernels) ASSERT_LT(row.name, read.texts.size());
    for (const traces::NvtxRow& row : read.ranges) ASSERT_LT(row.text, read.texts.size());
  }
}

}  // namespace
}  // namespace lanescope::profiler
