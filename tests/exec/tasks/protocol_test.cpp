// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a job, written down: a change of them raises kJobProtocol.
#include "core/base/protocol.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <map>
#include <set>

#include "core/graph/graph_io.h"
#include "core/record/input_record.h"
#include "core/record/recorder.h"
#include "exec/calls/calls.h"
#include "exec/messages/message_tags.h"
#include "exec/run/message_progress.h"
#include "tests/exec/tasks/serve_harness.h"

namespace lanescope::exec::test {
namespace {

constexpr char kRaise[] =
    "what processes send each other has changed: raise kJobProtocol (core/base/protocol.h) and write the new "
    "layout here";

// The server's x, and an increment whose operand comes from the worker.
Graph CounterGraph() {
  constexpr char kServer[] = "/job:ps/task:0/device:CPU:0", kWorker[] = "/job:worker/task:0/device:CPU:0";
  GraphBuilder builder;
  const Endpoint x = builder.Op("VariableV2", "x")
                         .Attr("dtype", DataType::kFloat)
                         .Attr("shape", Shape{})
                         .Device(kServer)
                         .Build();
  const auto constant = [&](const std::string& name, float value) {
    return builder.Op("Const", name)
        .Attr("dtype", DataType::kFloat)
        .Attr("value", Tensor::Scalar(value))
        .Device(kWorker)
        .Build();
  };
  const Endpoint zero = constant("zero", 0), one = constant("one", 1);
  builder.Op("Assign", "init").Input(x).Input(zero).Device(kServer).Build();
  builder.Op("AssignAdd", "increment").Input(x).Input(one).Device(kServer).Build();
  return builder.Take();
}

TEST(Protocol, RecordsHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << kRaise;
  const std::vector<size_t> event = {sizeof(Event),
                                     offsetof(Event, start_ns),
                                     offsetof(Event, end_ns),
                                     offsetof(Event, bytes),
                                     offsetof(Event, command),
                                     offsetof(Event, step),
                                     offsetof(Event, schedule),
                                     offsetof(Event, kind)};
  EXPECT_THAT(event, testing::ElementsAre(40, 0, 8, 16, 24, 28, 32, 36)) << kRaise;
  const std::vector<size_t> times = {sizeof(StepTimes), offsetof(StepTimes, start_ns),
                                     offsetof(StepTimes, end_ns), offsetof(StepTimes, messaging_ns)};
  EXPECT_THAT(times, testing::ElementsAre(24, 0, 8, 16)) << kRaise;
  const std::vector<size_t> input = {sizeof(InputStep), sizeof(InputWait), sizeof(InputWork),
                                     sizeof(QueueFill)};
  EXPECT_THAT(input, testing::ElementsAre(24, 32, 24, 24)) << kRaise;
  const std::vector<int> tags = {kSignOfLifeTag, kClockTag, kNetworkTag,  kStartTag,
                                 kLetterTag,     kPeerTag,  kHandedInTag, kFirstStepTag};
  EXPECT_THAT(tags, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 8)) << kRaise;
  EXPECT_EQ(kCalls, 11) << kRaise;
}

// Law: every call of a client that runs a recorded step has its one length, and so has its answer. The first
// number of a letter to a server is the call.
TEST(Protocol, LettersHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << kRaise;
  std::map<int64_t, std::set<size_t>> letters;
  std::set<size_t> answers, content;
  {
    ServedMachine served(MachineOfJobs(1, 1), {0});
    std::map<std::pair<int, int>, bool> is_text;  // of the next message: a letter's length comes first
    served.board().SetWatch([&](int from, int to, int tag, std::string_view bytes) {
      if (tag >= kFirstStepTag) content.insert(bytes.size());
      if (tag != kLetterTag) return;
      bool& text = is_text[{from, to}];
      if (text && to == 0) letters[FrameReader(bytes).Number()].insert(bytes.size());
      if (text && from == 0) answers.insert(bytes.size());
      text = !text;
    });
    Client client(&served, 1);
    ClientSession session(&client, CounterGraph());
    session.Do("init");
    EXPECT_EQ(session.Get("increment"), 1);
    client.tasks.Reach(Stage::kReady);
    client.tasks.Await(1, Stage::kReady, [] {});
    client.tasks.Reset({"box"});
    served.board().SetWatch(nullptr);
  }
  const size_t machine = MachineToJson(MachineOfJobs(1, 1)).size(),
               graph = GraphToBinary(CounterGraph()).size();
  const auto sizes = [&](Call call) { return letters[static_cast<int64_t>(call)]; };
  // call, number, protocol, two texts, two lists of a number a node, seed
  EXPECT_THAT(sizes(Call::kOpen), testing::ElementsAre(8 * 8 + machine + graph + 5 * 4)) << kRaise;
  EXPECT_THAT(sizes(Call::kRun), testing::ElementsAre(7 * 8)) << kRaise;
  // call, number, session, step, no feeds, no fetches and a target, or a fetch and no target: "init",
  // "increment"
  EXPECT_THAT(sizes(Call::kPrepare), testing::ElementsAre(8 * 8 + 4, 8 * 8 + 9)) << kRaise;
  EXPECT_THAT(sizes(Call::kClock), testing::ElementsAre(2 * 8)) << kRaise;
  EXPECT_THAT(sizes(Call::kReach), testing::ElementsAre(3 * 8)) << kRaise;
  EXPECT_THAT(sizes(Call::kAwait), testing::ElementsAre(4 * 8)) << kRaise;
  // call, number, how many containers, and one: "box"
  EXPECT_THAT(sizes(Call::kReset), testing::ElementsAre(4 * 8 + 3)) << kRaise;
  EXPECT_THAT(content, testing::ElementsAre(4)) << kRaise;
  // number, code, message; then nothing, a session, a clock, or what a schedule has; or three numbers of a
  // step.
  EXPECT_THAT(answers, testing::ElementsAre(24, 32, 40, 48)) << kRaise;
}

}  // namespace
}  // namespace lanescope::exec::test
