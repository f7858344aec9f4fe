// SPDX-License-Identifier: Apache-2.0
// The first process of a job is handed these, written down: whoever changes it raises kJobProtocol.
#include "core/base/protocol.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/frame.h"
#include "exec/messages/message_tags.h"
#include "profiler/batch_codec.h"
#include "study/job/job.h"
#include "study/job/job_activities.h"
#include "study/measure/gathered_run.h"
#include "tests/support/memory_transport.h"

namespace lanescope::study {
namespace {

using ::testing::ElementsAre;
using traces::ApiRow;
using traces::KernelRow;
using traces::MemcpyRow;

constexpr char kRaiseIt[] =
    "what processes hand to the first has changed: raise kJobProtocol (core/base/protocol.h) and write the "
    "new layout here";

// Law: a run that is handed in is these numbers and texts, one behind the other.
TEST(Protocol, HandedInRunsHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << kRaiseIt;
  HandedInRun run;
  run.begin_ns = 11;
  run.end_ns = 12;
  run.step_ns = {13};
  run.fetches = {Tensor::FromValues(Shape{2}, std::vector<std::string>{"a", "bc"}),
                 Tensor::Scalar(int32_t{14})};
  run.oversubscribed = true;
  run.events.resize(2);
  run.input.threads = {{15, "op", "queue"}};
  run.input.queues = {{16, "name", 17, 18}};
  run.input.steps.resize(1);
  run.input.waits.resize(2);
  run.input.works.resize(3);
  run.input.fills.resize(4);
  const std::string bytes = BytesOf(run);
  FrameReader reader(bytes);
  const auto numbers = [&](int count) {
    std::vector<int64_t> read;
    for (int i = 0; i < count; ++i) read.push_back(reader.Number());
    return read;
  };
  EXPECT_THAT(numbers(2), ElementsAre(11, 12)) << kRaiseIt;
  EXPECT_THAT(reader.Records<int64_t>(), ElementsAre(13)) << kRaiseIt;
  EXPECT_EQ(reader.Number(), 2) << "fetches: type, shape, content";
  EXPECT_EQ(reader.Number(), static_cast<int64_t>(DataType::kString)) << kRaiseIt;
  EXPECT_EQ(reader.Text().size(), 8U) << kRaiseIt;
  EXPECT_THAT(reader.Texts(), ElementsAre("a", "bc")) << kRaiseIt;
  EXPECT_EQ(reader.Number(), static_cast<int64_t>(DataType::kInt32)) << kRaiseIt;
  EXPECT_EQ(reader.Text(), "") << kRaiseIt;
  EXPECT_EQ(reader.Text(), std::string_view("\x0e\0\0\0", 4)) << kRaiseIt;
  EXPECT_EQ(reader.Number(), 1) << "oversubscribed";
  EXPECT_EQ(reader.Text().size(), 2 * 40U) << "events";
  EXPECT_THAT(numbers(2), ElementsAre(1, 15)) << "threads";
  EXPECT_EQ(reader.Text(), "op");
  EXPECT_EQ(reader.Text(), "queue");
  EXPECT_THAT(numbers(2), ElementsAre(1, 16)) << "queues";
  EXPECT_EQ(reader.Text(), "name");
  EXPECT_THAT(numbers(2), ElementsAre(17, 18)) << kRaiseIt;
  for (const size_t size : {24U, 2 * 32U, 3 * 24U, 4 * 24U})
    EXPECT_EQ(reader.Text().size(), size) << kRaiseIt;
  EXPECT_EQ(reader.Rest(), "") << kRaiseIt;
}

// Law: captures are the process' number, then batches, each behind its length: what EncodeBatch says first,
// and tables behind the size of their rows and their number.
TEST(Protocol, CapturesHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << kRaiseIt;
  const traces::ActivityBatch batch;
  const std::string encoded = profiler::EncodeBatch(batch), bytes = BytesOfBatches(4711, {batch, batch});
  EXPECT_EQ(bytes.size(), 4 + 2 * (8 + encoded.size())) << kRaiseIt;
  constexpr size_t kHead = 3 * 4 + traces::kNumLosses * 8 + 8 + 4;  // and one text, which is empty
  std::vector<uint32_t> rows;
  for (size_t at = kHead; at + 12 <= encoded.size(); at += 12) {
    uint32_t size = 0;
    std::memcpy(&size, encoded.data() + at, sizeof size);
    rows.push_back(size);
  }
  EXPECT_EQ(encoded.size(), kHead + 12 * rows.size()) << kRaiseIt;
  EXPECT_THAT(rows, ElementsAre(136, 80, 56, 40, 48, 40, 32, 40, 56, 16, 16, 128, 24, 16, 32, 8, 48, 4))
      << kRaiseIt;
  const std::vector<size_t> kernel = {offsetof(KernelRow, start),       offsetof(KernelRow, end),
                                      offsetof(KernelRow, graph_node),  offsetof(KernelRow, device),
                                      offsetof(KernelRow, correlation), offsetof(KernelRow, name),
                                      offsetof(KernelRow, grid),        offsetof(KernelRow, block),
                                      offsetof(KernelRow, registers),   offsetof(KernelRow, shared_limit)};
  EXPECT_THAT(kernel, ElementsAre(0, 8, 16, 40, 52, 56, 64, 76, 128, 132)) << kRaiseIt;
  const std::vector<size_t> copy = {offsetof(MemcpyRow, bytes),       offsetof(MemcpyRow, device),
                                    offsetof(MemcpyRow, correlation), offsetof(MemcpyRow, src_device),
                                    offsetof(MemcpyRow, dst_device),  offsetof(MemcpyRow, copy_kind)};
  EXPECT_THAT(copy, ElementsAre(16, 40, 52, 56, 64, 72)) << kRaiseIt;
  const std::vector<size_t> call = {offsetof(ApiRow, thread), offsetof(ApiRow, correlation),
                                    offsetof(ApiRow, name), offsetof(ApiRow, result), offsetof(ApiRow, kind)};
  EXPECT_THAT(call, ElementsAre(16, 20, 24, 28, 32)) << kRaiseIt;
  const std::vector<size_t> tag = {offsetof(traces::TagRow, tag), offsetof(traces::TagRow, correlation),
                                   offsetof(traces::GraphNodeRow, node), offsetof(traces::GraphNodeRow, tag)};
  EXPECT_THAT(tag, ElementsAre(0, 8, 0, 8)) << kRaiseIt;
}

// Notes what a process shares.
class NotedTransport : public test::MemoryTransport {
 public:
  NotedTransport(test::MessageBoard* board, int rank, std::vector<std::string>* shared)
      : MemoryTransport(board, rank), shared_(*shared) {}
  std::vector<std::string> Share(const std::string& mine) override {
    shared_.push_back(mine);
    return MemoryTransport::Share(mine);
  }

 private:
  std::vector<std::string>& shared_;
};

// Laws: clocks are asked for by an empty message and told by one number, as is the start; what is handed in
// comes behind its length. Clocks of processes without a common one are measured to within what the question
// took.
TEST(Protocol, MessagesOfAJobHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << kRaiseIt;
  const std::vector<size_t> clock = {sizeof(ClockOffset), offsetof(ClockOffset, ahead_ns),
                                     offsetof(ClockOffset, uncertainty_ns)};
  EXPECT_THAT(clock, ElementsAre(16, 0, 8)) << kRaiseIt;
  test::MessageBoard board(2);
  std::map<int, std::set<std::pair<int, size_t>>> messages;  // by tag: sender and length
  board.SetWatch([&](int from, int, int tag, std::string_view bytes) {
    messages[tag].insert({from, bytes.size()});
  });
  std::vector<std::string> shared[2];
  const auto work = [&](int rank) {
    NotedTransport transport(&board, rank, &shared[rank]);
    Job job(&transport, rank == 0 ? "one clock" : "another");
    job.StartTogether();
    job.HandIn(1, "five!", nullptr);
    EXPECT_TRUE(job.InAll(true));
    EXPECT_EQ(job.FromFirst(rank == 0), true);
    ASSERT_EQ(job.clocks().size(), 2U);
    EXPECT_GT(job.clocks()[1].uncertainty_ns, 0);
    EXPECT_LE(std::abs(job.clocks()[1].ahead_ns), job.clocks()[1].uncertainty_ns) << "it is the same clock";
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  using Messages = std::set<std::pair<int, size_t>>;
  EXPECT_EQ(messages[exec::kClockTag], (Messages{{0, 0}, {1, 8}})) << kRaiseIt;
  EXPECT_EQ(messages[exec::kStartTag], (Messages{{1, 0}, {0, 8}})) << kRaiseIt;
  EXPECT_EQ(messages[exec::kHandedInTag], (Messages{{1, 8}, {1, 5}})) << kRaiseIt;
  EXPECT_EQ(messages.size(), 3U) << kRaiseIt;
  for (const std::vector<std::string>& texts : shared) {
    ASSERT_EQ(texts.size(), 6U) << kRaiseIt;  // computer, host and process, clock's name, clocks, two answers
    EXPECT_EQ(texts[3].size(), 8 + 2 * sizeof(ClockOffset)) << kRaiseIt;
    EXPECT_EQ(texts[4], "1") << kRaiseIt;
  }
  EXPECT_EQ(shared[1][2], "another") << kRaiseIt;
}

}  // namespace
}  // namespace lanescope::study
