// SPDX-License-Identifier: Apache-2.0
// Graphs that read their input themselves, with their queues changed on the command line, or as datasets.
#include <gmock/gmock.h>

#include "core/base/file.h"
#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Queue, FillsTheQueuesOfItsGraphAndEndsWithTheInput) {
  const Folder folder;
  const std::string graph = CsvReader(folder);
  const Outcome run = Lanescope({"run", graph, "--steps", "1000", "--warmup", "1"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("49 steps"));
  EXPECT_THAT(run.output, HasSubstr("the input has ended: 1000 records, 50 batches"));
  const json result = LanescopeJson(
      {"run", graph, "--steps", "3", "--warmup", "0", "--json", "--trace", folder.File("t.db")});
  EXPECT_EQ(result["input"]["batches"], 3);
  EXPECT_EQ(result["input"]["ended"], false);
}

// However much time it has, a step whose queue nothing fills does not begin to wait for it.
TEST(Queue, AQueueThatNothingFillsIsSaidAtOnce) {
  const Folder folder;
  ExpectError(Lanescope({"run", CsvReader(folder, false)}), 1, "FailedPrecondition",
              "the queue 'shared_instance_q' stays empty");
}

TEST(Queue, WhatKeepsTheInputFromComingIsTold) {
  const Folder folder;
  std::string graph = CsvReader(folder);
  std::string text = ReadFile(graph);
  text.replace(text.find("instances.csv"), 13, "instances.xyz");
  folder.Write("csv_reader.pbtxt", text);
  ExpectError(Lanescope({"run", graph}), 1, "NotFound", "instances.xyz");
}

// A placement with another batch is one of the changed graph: the same change goes with it wherever it is
// used, and without it the file is refused.
TEST(Queue, APlacementGoesWithTheSameChange) {
  const Folder folder;
  const std::string graph = CsvReader(folder), placement = folder.File("p.json");
  const std::vector<std::string> batch = {"--queue", "instance_q.batch=40"};
  const auto with = [&](std::vector<std::string> command) {
    command.insert(command.end(), batch.begin(), batch.end());
    return command;
  };
  LanescopeJson(with({"place", graph, "--strategy", "heft", "-o", placement, "--json"}));
  const json simulated = LanescopeJson(with({"simulate", graph, "--strategy", "@" + placement, "--json"}));
  EXPECT_GT(simulated["step_ns"]["value"], 0);
  const json run = LanescopeJson(
      with({"run", graph, "--strategy", "@" + placement, "--steps", "100", "--warmup", "0", "--json"}));
  EXPECT_EQ(run["input"]["batches"], 1000 / 40);
  ExpectError(Lanescope({"simulate", graph, "--strategy", "@" + placement}), 1, "InvalidArgument",
              "the graph has no node");
}

// The search sees the changed graph, too.
TEST(Queue, ASearchIsOfTheChangedGraph) {
  const Folder folder;
  const std::string graph = CsvReader(folder), best = folder.File("best.json");
  const json found = LanescopeJson({"search", graph, "--queue", "instance_q.batch=40", "--rounds", "1",
                                    "--start", "single,annotated", "-o", best, "--json"});
  const json simulated = LanescopeJson(
      {"simulate", graph, "--queue", "instance_q.batch=40", "--strategy", "@" + best, "--json"});
  EXPECT_EQ(simulated["step_ns"]["value"], found["best"]["step_ns"]);
}

TEST(Queue, WhatCannotBeIsSaid) {
  const Folder folder;
  const std::string graph = CsvReader(folder);
  for (const char* command : {"run", "simulate", "place", "search"}) {
    ExpectError(Lanescope({command, graph, "--queue", "other.batch=3"}), 1, "NotFound",
                "the graph has no queue 'other'");
  }
}

// Two runs share no queue, whatever it is called: one that nobody fills stays empty although another run
// fills its own at the same time, which is said at once.
TEST(Queue, RunsShareNothing) {
  const Folder with, without;
  Process filled({"run", CsvReader(with), "--steps", "50", "--warmup", "0"});
  const Outcome starved = Lanescope({"run", CsvReader(without, false), "--steps", "1", "--timeout", "2000"});
  ExpectError(starved, 1, "FailedPrecondition", "the queue 'shared_instance_q' stays empty");
  EXPECT_EQ(filled.Wait().status, 0);
}

// A queue that holds one element, put there by the init op: the second step waits, until its time is over or
// somebody interrupts it.
TEST(Queue, AStepThatWaitsEndsInTime) {
  const Folder folder;
  const std::string types = R"(attr { key: "component_types" value { list { type: DT_FLOAT } } })";
  const std::string graph = folder.Write(
      "waits.pbtxt",
      R"(node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value"
    value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "queue" op: "FIFOQueueV2" )" +
          types + R"( }
  node { name: "fill" op: "QueueEnqueueV2" input: "queue" input: "one"
    attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "take" op: "QueueDequeueV2" input: "queue" )" +
          types + " }");
  folder.Write("waits.run.json", R"({"init": ["fill"], "fetches": ["take"]})");
  ExpectError(Lanescope({"run", graph, "--steps", "2", "--warmup", "0", "--timeout", "50"}), 1,
              "DeadlineExceeded", "still waits for queue 'queue'");
  Process run({"run", graph, "--steps", "2", "--warmup", "0"});
  run.Signal(SIGINT);
  EXPECT_NE(run.Wait().status, 0);
}

// Input: a step that reads an iterator over a dataset, one that reduces a dataset, and one that starts an
// iterator. Law: the error names the op that reads, and what can be fed in its place.
TEST(Dataset, StepsThatReadDatasetsSayWhatToFeed) {
  const Folder folder;
  const std::string types = R"(
    attr { key: "output_types" value { list { type: DT_FLOAT } } }
    attr { key: "output_shapes" value { list { shape { dim { size: 2 } } } } } )";
  const std::string graph = folder.Write("g.pbtxt", R"(
    node { name: "count" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
      attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 3 } } } }
    node { name: "numbers" op: "RangeDataset" input: "count" input: "count" input: "count" )" +
                                                        types + R"( }
    node { name: "iterator" op: "IteratorV2"
      attr { key: "shared_name" value { s: "" } } attr { key: "container" value { s: "" } } )" +
                                                        types + R"( }
    node { name: "start" op: "MakeIterator" input: "numbers" input: "iterator" }
    node { name: "batch" op: "IteratorGetNext" input: "iterator" )" +
                                                        types + R"( }
    node { name: "loss" op: "Neg" input: "batch" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "sum" op: "ReduceDataset" input: "numbers" input: "count"
      attr { key: "f" value { func { name: "add" } } }
      attr { key: "Tstate" value { list { type: DT_INT64 } } } attr { key: "Targuments" value { list { } } }
      attr { key: "output_types" value { list { type: DT_INT64 } } }
      attr { key: "output_shapes" value { list { shape { } } } } })");
  ExpectError(Lanescope({"run", graph, "--fetch", "loss"}), 1, "Unimplemented",
              "node 'batch' (IteratorGetNext) reads a tf.data dataset, which no kernel here does; feed "
              "'batch:0'");
  ExpectError(Lanescope({"run", graph, "--fetch", "sum"}), 1, "Unimplemented",
              "node 'sum' (ReduceDataset) reads a tf.data dataset");
  ExpectError(Lanescope({"run", graph, "--target", "start"}), 1, "Unimplemented",
              "is of a tf.data dataset, which no kernel here makes; leave it out of the step");
}

}  // namespace
}  // namespace lanescope::cli
