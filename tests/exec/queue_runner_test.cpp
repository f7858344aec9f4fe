// SPDX-License-Identifier: Apache-2.0
// Threads that end together, and those that fill queues.
#include "exec/run/queue_runner.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

using ::testing::HasSubstr;

TEST(Coordinator, K61_WaitsForAStop) {
  Coordinator coordinator;
  EXPECT_FALSE(coordinator.WaitForStop(1));
  EXPECT_FALSE(coordinator.ShouldStop());
  coordinator.Start("stops", [&] { coordinator.RequestStop(); });
  EXPECT_TRUE(coordinator.WaitForStop(60'000));
  EXPECT_TRUE(coordinator.ShouldStop());
}

TEST(Coordinator, K63_NamesThreadsThatStillRun) {
  std::atomic<bool> end{false};
  {
    Coordinator coordinator;
    coordinator.Start("t1", [&] { end.wait(false); });
    coordinator.Start("t2", [&] { end.wait(false); });
    coordinator.Start("t3", [&] { coordinator.RequestStop(); });
    ExpectError(Code::kFailedPrecondition, {"Coordinator stopped with threads still running: t1 t2"},
                [&] { coordinator.Join(20); });
    coordinator.Join(1, true);
    end = true;
    end.notify_all();
  }
}

TEST(Coordinator, K65_ACleanStopIsNoError) {
  Coordinator coordinator;
  coordinator.Start("ends", [] { Throw(Code::kOutOfRange, "no more"); });
  coordinator.Join();
  EXPECT_TRUE(coordinator.ShouldStop());
}

TEST(Coordinator, KeepsTheFirstError) {
  Coordinator coordinator;
  coordinator.RequestStop(Error(Code::kNotFound, "first"));
  coordinator.RequestStop(Error(Code::kInternal, "second"));
  ExpectError(Code::kNotFound, {"first"}, [&] { coordinator.Join(); });
  ExpectError(Code::kInternal, {"third"}, [&] { coordinator.RequestStop(Error(Code::kInternal, "third")); });
}

// Counters of two limits, as ops that a runner runs.
Graph Counters() {
  GraphBuilder builder;
  std::vector<Endpoint> assigned;
  for (const int limit : {3, 30}) {
    const std::string name = "v" + std::to_string(limit);
    const Endpoint v =
        builder.Op("VariableV2", name).Attr("dtype", DataType::kInt64).Attr("shape", Shape{}).Build();
    const Endpoint zero = builder.Scalar<int64_t>(name + "/zero", 0);
    assigned.push_back(builder.Op("Assign", name + "/init").Input(v).Input(zero).Build());
    builder.Op("CountUpTo", "count" + std::to_string(limit)).Input(v).Attr("limit", limit).Build();
  }
  NodeBuilder init = builder.Op("NoOp", "init");
  for (const Endpoint assign : assigned) init.ControlInput(assign);
  init.Build();
  return builder.Take();
}

TEST(QueueRunner, K67_EachOpReachesItsEnd) {
  Pipeline pipeline(Counters());
  pipeline.Do("init");
  QueueRunner runner({"q", {"count3", "count30"}, "", "", {}});
  Coordinator coordinator;
  EXPECT_EQ(runner.Start(&pipeline.session, &coordinator), 2);
  coordinator.Join();
  EXPECT_EQ(pipeline.session.ReadVariable("v3").IntAt(0), 3);
  EXPECT_EQ(pipeline.session.ReadVariable("v30").IntAt(0), 30);
  EXPECT_TRUE(runner.errors().empty());
}

TEST(QueueRunner, K69_AnErrorEndsTheGroup) {
  Pipeline pipeline(Counters());  // not initialised
  QueueRunner runner({"q", {"count3", "count30"}, "", "", {}});
  Coordinator coordinator;
  runner.Start(&pipeline.session, &coordinator);
  ExpectError(Code::kFailedPrecondition, {"Attempting to use uninitialized value"},
              [&] { coordinator.Join(); });
  EXPECT_FALSE(runner.errors().empty());
}

TEST(QueueRunner, WantsAQueueAndOps) {
  ExpectError(Code::kInvalidArgument, {"Must provide queue and enqueue_ops."}, [] {
    QueueRunner({"q", {}, "", "", {}});
  });
}

// A queue of capacity 3 that "put" fills.
Graph SmallQueue() {
  GraphBuilder builder;
  const Endpoint queue = FloatQueueNode(&builder, "FIFOQueueV2", 3, "q");
  Enqueue(&builder, "put", queue, 1);
  Size(&builder, queue);
  Close(&builder, queue);
  return builder.Take();
}

TEST(QueueRunner, K71_StartsOnce) {
  Pipeline pipeline(SmallQueue());
  QueueRunner runner({"q", {"put"}, "close", "cancel", {}});
  Coordinator coordinator;
  EXPECT_EQ(runner.Start(&pipeline.session, &coordinator), 2);
  EXPECT_EQ(runner.Start(&pipeline.session, &coordinator), 0);
  coordinator.RequestStop();
  coordinator.Join();
}

TEST(QueueRunner, K73_AStopEndsAnEnqueueThatWaits) {
  Pipeline pipeline(SmallQueue());
  QueueRunner runner({"q", {"put"}, "close", "cancel", {}});
  Coordinator coordinator;
  runner.Start(&pipeline.session, &coordinator);
  Until([&] { return pipeline.Size("size") == 3; });
  coordinator.RequestStop();
  coordinator.Join();
  EXPECT_TRUE(runner.errors().empty());
}

// Reading files, as a graph does it.
class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "lanescope-reader-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = name;
  }
  ~Files() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string File(const std::string& name, const std::string& text) const {
    WriteFile((folder_ / name).string(), text);
    return (folder_ / name).string();
  }

  // A reader of these files: "read" gives key and value, "counts" both counters.
  static Graph ReaderGraph(NodeBuilder (*reader)(GraphBuilder*), const std::vector<std::string>& files) {
    GraphBuilder builder;
    const Endpoint queue = builder.Op("FIFOQueueV2", "files")
                               .Attr("component_types", Types({DataType::kString}))
                               .Attr("shapes", Shapes({Shape{}}))
                               .Build();
    const Tensor names = Tensor::FromValues(Shape{static_cast<int64_t>(files.size())}, files);
    builder.Op("QueueEnqueueManyV2", "put").Input(queue).Input(builder.Const("names", names)).Build();
    builder.Op("QueueCloseV2", "close").Input(queue).Build();
    const Endpoint handle = reader(&builder).Build();
    builder.Op("ReaderReadV2", "read").Input(handle).Input(queue).Build();
    builder.Op("ReaderReadUpToV2", "read_three")
        .Input(handle)
        .Input(queue)
        .Input(builder.Scalar<int64_t>("three", 3))
        .Build();
    builder.Op("ReaderNumRecordsProducedV2", "records").Input(handle).Build();
    builder.Op("ReaderNumWorkUnitsCompletedV2", "units").Input(handle).Build();
    builder.Op("ReaderResetV2", "reset").Input(handle).Build();
    return builder.Take();
  }
  std::string Read(Pipeline* pipeline) const {
    std::string record;
    const auto error = ErrorOf([&] {
      const auto fetched = pipeline->Get({"read:0", "read:1"});
      const std::string key = *fetched[0].data<std::string>();
      const std::string folder = folder_.string() + "/";
      record =
          (key.starts_with(folder) ? key.substr(folder.size()) : key) + "=" + *fetched[1].data<std::string>();
    });
    return error.has_value() ? std::string(CodeName(error->code())) : record;
  }

  std::filesystem::path folder_;
};

NodeBuilder TextLineReader(GraphBuilder* builder) { return builder->Op("TextLineReaderV2", "reader"); }
NodeBuilder SkippingReader(GraphBuilder* builder) {
  return std::move(builder->Op("TextLineReaderV2", "reader").Attr("skip_header_lines", 1));
}
NodeBuilder WholeFileReader(GraphBuilder* builder) { return builder->Op("WholeFileReaderV2", "reader"); }
NodeBuilder TfRecordReader(GraphBuilder* builder) { return builder->Op("TFRecordReaderV2", "reader"); }

TEST_F(Files, L01_LinesOfTwoFiles) {
  Pipeline pipeline(ReaderGraph(TextLineReader, {File("a", "0: 1\n0: 2\n"), File("b", "1: 1\r\n1: 2")}));
  pipeline.Do("put");
  pipeline.Do("close");
  for (const char* record : {"a:1=0: 1", "a:2=0: 2", "b:1=1: 1", "b:2=1: 2", "OutOfRange"})
    EXPECT_EQ(Read(&pipeline), record);
  EXPECT_EQ(pipeline.Get({"records"})[0].IntAt(0), 4);
  EXPECT_EQ(pipeline.Get({"units"})[0].IntAt(0), 2);
  EXPECT_EQ(pipeline.session.records_read(), 4);
}

TEST_F(Files, L03_HeadersAreCounted) {
  Pipeline pipeline(ReaderGraph(SkippingReader, {File("a", "header\nline\n")}));
  pipeline.Do("put");
  EXPECT_EQ(Read(&pipeline), "a:2=line");
}

TEST_F(Files, L07_WholeFiles) {
  Pipeline pipeline(ReaderGraph(WholeFileReader, {File("a", "one\ntwo")}));
  pipeline.Do("put");
  EXPECT_EQ(Read(&pipeline), "a=one\ntwo");
}

// Law: at most so many, and never those of two files.
TEST_F(Files, SeveralRecordsAtOnce) {
  Pipeline pipeline(ReaderGraph(TextLineReader, {File("a", "1\n2\n3\n4\n"), File("b", "5\n")}));
  pipeline.Do("put");
  pipeline.Do("close");
  for (const int64_t count : {3, 1, 1}) EXPECT_EQ(pipeline.Get({"read_three:1"})[0].NumElements(), count);
}

// Law: a damaged file costs its own records alone.
TEST_F(Files, L35_ADamagedFileIsPassedOver) {
  Pipeline pipeline(
      ReaderGraph(TfRecordReader, {File("a", "this is no record file at all"), folder_ / "missing"}));
  pipeline.Do("put");
  pipeline.Do("close");
  for (const char* record : {"DataLoss", "NotFound", "OutOfRange"}) EXPECT_EQ(Read(&pipeline), record);
}

// Law: steps of several threads share a reader, and each record is read once.
TEST_F(Files, AReaderIsShared) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + "\n";
  Pipeline pipeline(ReaderGraph(TextLineReader, {File("a", text)}));
  std::vector<std::future<std::set<std::string>>> readers;
  for (int t = 0; t < 3; ++t) {
    readers.push_back(std::async(std::launch::async, [&] {
      std::set<std::string> read;
      for (std::string record = Read(&pipeline); record != "OutOfRange"; record = Read(&pipeline))
        read.insert(record);
      return read;
    }));
  }
  pipeline.Do("put");
  pipeline.Do("close");
  size_t count = 0;
  std::set<std::string> all;
  for (auto& reader : readers) {
    const auto read = reader.get();
    count += read.size();
    all.insert(read.begin(), read.end());
  }
  EXPECT_EQ(count, 200u);
  EXPECT_EQ(all.size(), 200u);
}

// Law: a step that waits for its turn at a reader, or for a file, ends in time.
TEST_F(Files, ReadsThatWaitAreCancelled) {
  Pipeline pipeline(ReaderGraph(TextLineReader, {File("a", "1\n")}));
  std::vector<std::future<std::string>> reads;
  for (int t = 0; t < 2; ++t) {
    reads.push_back(std::async(std::launch::async, [&] {
      return Pipeline::Outcome([&] { pipeline.session.Run({{}, {"read"}, {}}, {.timeout_ns = 30'000'000}); });
    }));
  }
  for (auto& read : reads) EXPECT_THAT(read.get(), HasSubstr("DeadlineExceeded"));
  pipeline.Do("put");
  EXPECT_EQ(Read(&pipeline), "a:1=1");
}

}  // namespace
}  // namespace lanescope::exec::test
