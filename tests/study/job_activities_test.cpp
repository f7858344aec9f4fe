// SPDX-License-Identifier: Apache-2.0
// Captures of several processes, as one trace has them.
#include "study/job/job_activities.h"

#include <gmock/gmock.h>

#include "tests/core/base/expect_error.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;
using traces::ActivityBatch;

// Laws: times go back by what the clock is ahead, unless they are not known; commands are the whole
// schedule's; a GPU has another number than the first task's. What stands for a whole graph or for nothing
// stays.
TEST(JobActivities, AreTranslatedForTheFirstProcess) {
  TaskShare share;
  share.task = 1;
  share.whole = {CommandId(5), CommandId(), CommandId(7)};
  ActivityBatch batch;
  traces::KernelRow kernel;
  kernel.start = 10'300;
  kernel.end = 10'400;
  kernel.device = 2;
  batch.kernels = {kernel};
  traces::MemcpyRow copy;
  copy.start = 0;
  copy.dst_device = 0;
  batch.copies = {copy};
  batch.calls.emplace_back().end = 10'500;
  batch.clocks.emplace_back().time = 10'600;
  batch.gpus.emplace_back().id = 3;
  batch.tags = {{traces::MakeActivityTag(0, 4, 2), 17, 0},
                {traces::MakeActivityTag(0, 4, traces::kWholeGraph), 18, 0},
                {traces::MakeActivityTag(0, 4, 1), 19, 0}};
  batch.graph_nodes = {{0x70, traces::MakeActivityTag(0, 0, 0)}};
  TranslateForFirst(share, 10'000, &batch);
  EXPECT_EQ(batch.kernels[0].start, 300);
  EXPECT_EQ(batch.kernels[0].end, 400);
  EXPECT_EQ(batch.kernels[0].device, traces::GpuOfTask(1, 2));
  EXPECT_NE(batch.kernels[0].device, 2U);
  EXPECT_EQ(batch.copies[0].start, 0) << "not known";
  EXPECT_EQ(batch.copies[0].src_device, traces::kNoId);
  EXPECT_EQ(batch.copies[0].dst_device, traces::GpuOfTask(1, 0));
  EXPECT_EQ(batch.calls[0].end, 500);
  EXPECT_EQ(batch.clocks[0].time, 600);
  EXPECT_EQ(batch.gpus[0].id, traces::GpuOfTask(1, 3));
  EXPECT_EQ(batch.tags[0].tag, traces::MakeActivityTag(0, 4, 7));
  EXPECT_EQ(batch.tags[1].tag, traces::MakeActivityTag(0, 4, traces::kWholeGraph));
  EXPECT_EQ(batch.tags[2].tag, traces::MakeActivityTag(0, 4, 1)) << "a message, which no GPU runs";
  EXPECT_EQ(batch.graph_nodes[0].tag, traces::MakeActivityTag(0, 0, 5));
}

// Laws: what was handed in comes out, in the order of ranks; processes of two computers may have one number,
// and are told apart all the same.
TEST(JobActivities, AreToldApartByProcess) {
  ActivityBatch batch;
  batch.tags = {{1, 17, 0}};
  const std::string two = BytesOfBatches(4711, {batch, batch}), none = BytesOfBatches(4711, {}),
                    one = BytesOfBatches(4711, {batch});
  const std::vector<ActivityBatch> batches = BatchesOfRanks({two, none, one});
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].pid, 4711U);
  EXPECT_EQ(batches[1].pid, 4711U);
  EXPECT_EQ(batches[2].pid, 4713U) << "4712 is the one that handed nothing in";
  EXPECT_EQ(batches[2].tags.at(0).correlation, 17U);
  EXPECT_THAT(ErrorOf([&] { BatchesOfRanks({one.substr(0, one.size() - 1)}); }), HasSubstr("cut short"));
  EXPECT_THAT(ErrorOf([&] { BatchesOfRanks({""}); }), HasSubstr("not which one it is"));
}

}  // namespace
}  // namespace lanescope::study
