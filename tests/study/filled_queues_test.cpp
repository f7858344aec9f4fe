// SPDX-License-Identifier: Apache-2.0
// A queue "words" of one string each, from which "take" takes, and what may fill it.
#include "study/workload/filled_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_io.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::study {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string NodeText(const std::string& name, const std::string& op, const std::string& inputs,
                     const std::string& types, const std::string& more = "") {
  const std::string attr =
      types.empty() ? "" : "attr { key: '" + types + "' value { list { type: DT_STRING } } } ";
  return "node { name: '" + name + "' op: '" + op + "' " + inputs + " " + attr + more + " }\n";
}

const std::string kOne =
    NodeText("one", "Const", "", "",
             "attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'value' value { "
             "tensor { dtype: DT_STRING tensor_shape {} string_val: 'a' } } }");
const std::string kQueue = NodeText("queue", "FIFOQueueV2", "", "component_types",
                                    "attr { key: 'shared_name' value { s: 'words' } }");
const std::string kTake = NodeText("take", "QueueDequeueV2", "input: 'queue'", "component_types");
const std::string kPut = NodeText("put", "QueueEnqueueV2", "input: 'queue' input: 'one'", "Tcomponents");

// The error of a step that fetches "take".
std::string ErrorAbout(const std::string& nodes, RunSpec spec, QueueFillers fillers = QueueFillers::kRun) {
  if (spec.fetches.empty()) spec.fetches = {"take"};
  const Workload workload("words", ParseGraphText(nodes), std::move(spec));
  const Machine machine = VirtualMachine(1, 1);
  const PlacedGraph placed = Place(workload, "annotated", machine, RooflineCost());
  const Schedule step = CompileStep(placed, machine);
  return ErrorOf([&] { RequireFilledQueues(workload, step, fillers); });
}

RunSpec Runs(std::vector<std::string> init, std::vector<std::string> targets, std::string runner = "") {
  RunSpec spec;
  spec.init = std::move(init);
  spec.targets = std::move(targets);
  if (!runner.empty()) spec.queue_runners = {{"words", {std::move(runner)}, "", "", {}}};
  return spec;
}

TEST(FilledQueuesTest, AQueueThatNothingFillsIsNamedWithWhoTakes) {
  const auto says = AllOf(HasSubstr("FailedPrecondition: the queue 'words' stays empty, and 'take'"),
                          HasSubstr("queue_runners or targets"));
  EXPECT_THAT(ErrorAbout(kQueue + kTake, Runs({}, {})), says);
  EXPECT_THAT(ErrorAbout(kOne + kQueue + kTake + kPut, Runs({}, {})), says);
  EXPECT_THAT(ErrorAbout(kOne + kQueue + kTake + kPut, Runs({}, {"one"})), says);
}

TEST(FilledQueuesTest, StepInitAndRunnersMayFillIt) {
  const std::string nodes = kOne + kQueue + kTake + kPut;
  EXPECT_EQ(ErrorAbout(nodes, Runs({"put"}, {})), "");
  EXPECT_EQ(ErrorAbout(nodes, Runs({}, {"put"})), "");
  EXPECT_EQ(ErrorAbout(nodes, Runs({}, {}, "put")), "");
  EXPECT_EQ(ErrorAbout(nodes, Runs({}, {}), QueueFillers::kGraph), "");
  EXPECT_THAT(ErrorAbout(kQueue + kTake, Runs({}, {}), QueueFillers::kGraph), HasSubstr("'words'"));
}

// Another node of the same name in its container is the same queue; whoever only asks fills nothing; one that
// is closed lets nobody wait.
TEST(FilledQueuesTest, QueuesAreTheirNames) {
  const std::string twin = NodeText("twin", "FIFOQueueV2", "", "component_types",
                                    "attr { key: 'shared_name' value { s: 'words' } }");
  const std::string fill = NodeText("fill", "QueueEnqueueV2", "input: 'twin' input: 'one'", "Tcomponents");
  EXPECT_EQ(ErrorAbout(kOne + kQueue + kTake + twin + fill, Runs({"fill"}, {})), "");
  const std::string other = NodeText("twin", "FIFOQueueV2", "", "component_types");
  EXPECT_THAT(ErrorAbout(kOne + kQueue + kTake + other + fill, Runs({"fill"}, {})), HasSubstr("'words'"));
  const std::string size = NodeText("size", "QueueSizeV2", "input: 'queue'", "");
  EXPECT_THAT(ErrorAbout(kQueue + kTake + size, Runs({"size"}, {})), HasSubstr("'words'"));
  const std::string close = NodeText("close", "QueueCloseV2", "input: 'queue'", "");
  EXPECT_EQ(ErrorAbout(kQueue + kTake + close, Runs({"close"}, {})), "");
}

// A runner that itself waits for a queue of files never fills its own.
TEST(FilledQueuesTest, RunnersTakeFromQueuesToo) {
  const std::string nodes = kOne + kQueue + kTake + NodeText("files", "FIFOQueueV2", "", "component_types") +
                            NodeText("file", "QueueDequeueV2", "input: 'files'", "component_types") +
                            NodeText("put", "QueueEnqueueV2", "input: 'queue' input: 'file'", "Tcomponents");
  EXPECT_THAT(ErrorAbout(nodes, Runs({}, {}, "put")), HasSubstr("the queue 'files' stays empty, and 'file'"));
}

// "put" needs what "take" gives, by data or by control.
TEST(FilledQueuesTest, WhatFillsAQueueOnlyOnceSomethingWasTakenFromItNeverDoes) {
  const auto says = HasSubstr(
      "the queue 'words' stays empty, and 'take', which takes from it, would wait for ever: 'put', which "
      "fills "
      "it, itself waits for 'take'; say what fills it before in the init of the run configuration");
  const std::string by_data =
      NodeText("put", "QueueEnqueueV2", "input: 'queue' input: 'take'", "Tcomponents");
  const std::string by_control =
      kOne + NodeText("put", "QueueEnqueueV2", "input: 'queue' input: 'one' input: '^then'", "Tcomponents") +
      NodeText("then", "NoOp", "input: '^take'", "");
  for (const std::string& put : {by_data, by_control}) {
    EXPECT_THAT(ErrorAbout(kQueue + kTake + put, Runs({}, {"put"})), says);
    EXPECT_THAT(ErrorAbout(kQueue + kTake + put, Runs({}, {}, "put")), says);
    EXPECT_THAT(ErrorAbout(kQueue + kTake + put, Runs({"put"}, {}), QueueFillers::kInit), says);
  }
  const std::string first =
      kOne + NodeText("first", "QueueEnqueueV2", "input: 'queue' input: 'one'", "Tcomponents");
  EXPECT_EQ(ErrorAbout(first + kQueue + kTake + by_data, Runs({"first"}, {"put"})), "");
}

// Each queue is filled with what is taken from the other.
TEST(FilledQueuesTest, QueuesThatWaitForEachOtherStayEmpty) {
  const std::string other = NodeText("other", "FIFOQueueV2", "", "component_types") +
                            NodeText("take_other", "QueueDequeueV2", "input: 'other'", "component_types");
  const std::string puts =
      NodeText("put", "QueueEnqueueV2", "input: 'queue' input: 'take_other'", "Tcomponents") +
      NodeText("put_other", "QueueEnqueueV2", "input: 'other' input: 'take'", "Tcomponents");
  const std::string nodes = kQueue + kTake + other + puts;
  EXPECT_THAT(
      ErrorAbout(nodes, Runs({}, {"put", "put_other"})),
      HasSubstr("'take', which takes from it, would wait for ever: 'put', which fills it, itself waits "
                "for 'take_other'"));
  EXPECT_THAT(ErrorAbout(nodes, Runs({}, {}, "put")), HasSubstr("the queue 'other' stays empty"));
  const std::string first =
      kOne + NodeText("first", "QueueEnqueueV2", "input: 'other' input: 'one'", "Tcomponents");
  EXPECT_EQ(ErrorAbout(nodes + first, Runs({}, {"put", "put_other", "first"})), "");
}

// Init targets wait for what init targets fill alone.
TEST(FilledQueuesTest, WhatIsRunBeforeTheFirstStepWaitsForNoStep) {
  const std::string nodes = kOne + kQueue + kTake + kPut;
  EXPECT_THAT(ErrorAbout(nodes, Runs({"take"}, {"put"}), QueueFillers::kInit),
              HasSubstr("would wait for ever; say what fills it in the init"));
  EXPECT_EQ(ErrorAbout(nodes, Runs({"put", "take"}, {}), QueueFillers::kInit), "");
}

TEST(FilledQueuesTest, WhatIsFedIsTakenFromNoQueue) {
  RunSpec spec = Runs({}, {});
  FeedSpec& feed = spec.feeds["take"];
  feed.values = Tensor::FromValues(Shape{}, std::vector<std::string>{"b"});
  feed.dtype = DataType::kString;
  feed.shape = Shape{};
  spec.fetches = {"copy"};
  EXPECT_EQ(ErrorAbout(kQueue + kTake +
                           NodeText("copy", "Identity", "input: 'take'", "",
                                    "attr { key: 'T' value { type: DT_STRING } }"),
                       spec),
            "");
}

// It is said where the run begins, before any step and what is run before that.
TEST(FilledQueuesTest, ARunIsRefusedAtOnce) {
  for (const bool of_init : {false, true}) {
    RunSpec spec = Runs({of_init ? "take" : "one"}, {});
    spec.fetches = {of_init ? "one" : "take"};
    const Workload workload("words", ParseGraphText(kOne + kQueue + kTake), std::move(spec));
    const Machine machine = VirtualMachine(1, 1);
    EXPECT_THAT(ErrorOf([&] {
                  RecordedRun run(Place(workload, "annotated", machine, RooflineCost()), machine, nullptr,
                                  {});
                }),
                HasSubstr("FailedPrecondition: the queue 'words'"));
  }
}

}  // namespace
}  // namespace lanescope::study
