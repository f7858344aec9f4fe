// SPDX-License-Identifier: Apache-2.0
#include "gui/model/trace_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include "core/base/error.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::gui {
namespace {

LoadState StateOf(const std::string& path, std::vector<std::shared_ptr<const RunData>>* runs = nullptr) {
  TraceLoad load(path, nullptr);
  while (load.state().phase == LoadState::Phase::kLoading) std::this_thread::yield();
  if (runs != nullptr) *runs = load.TakeRuns();
  return load.state();
}

// (start, end) of all slices of a role.
std::vector<std::pair<int64_t, int64_t>> TimesOf(const RunData& run, std::initializer_list<LaneRole> roles) {
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const Lane& lane : run.lanes) {
    if (std::find(roles.begin(), roles.end(), lane.role) == roles.end()) continue;
    for (size_t i = 0; i < lane.size(); ++i) times.emplace_back(lane.start_ns[i], lane.end_ns[i]);
  }
  std::sort(times.begin(), times.end());
  return times;
}

template <typename Activity>
std::vector<std::pair<int64_t, int64_t>> TimesOf(const std::vector<Activity>& activities) {
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const Activity& activity : activities) times.emplace_back(activity.start_ns, activity.end_ns);
  std::sort(times.begin(), times.end());
  return times;
}

TEST(TraceLoaderTest, HoldsWhatTheReaderReads) {
  traces::ScratchFile file;
  traces::SampleRun first(true), second(false);
  traces::TraceWriter writer(file.path());
  first.WriteTo(&writer, 3);
  second.WriteTo(&writer, 5);
  writer.Close();
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 2u);
  traces::TraceReader reader(file.path());
  for (const auto& run : runs) {
    const traces::TraceRun whole = reader.ReadRun(run->id);
    EXPECT_EQ(TimesOf(*run, {LaneRole::kCompute}), TimesOf(whole.launches));
    EXPECT_EQ(TimesOf(*run, {LaneRole::kCopyIn, LaneRole::kCopyOut, LaneRole::kCopyWithin}),
              TimesOf(whole.copies));
    EXPECT_EQ(TimesOf(*run, {LaneRole::kLink}), TimesOf(whole.copies));
    EXPECT_EQ(run->steps.size(), whole.steps.size());
    EXPECT_EQ(run->successors.items.size(), whole.dependencies.size());
  }
  EXPECT_EQ(runs[0]->kind, RunKind::kSimulated);
  EXPECT_EQ(runs[1]->kind, RunKind::kEmulated);
  EXPECT_EQ(runs[0]->step_ns, 1000);
  // "a" on GPU:0, 200-500 of every step.
  const int op = runs[0]->FindOp("a");
  ASSERT_GE(op, 0);
  for (size_t c = 0; c < runs[0]->commands.size(); ++c) {
    const RunCommand& command = runs[0]->commands[c];
    if (command.op != op || command.kind != CommandKind::kLaunch) continue;
    const int64_t slice = runs[0]->FindSlice(static_cast<int>(c), 2);
    ASSERT_GE(slice, 0);
    const Lane& lane = runs[0]->lanes[static_cast<size_t>(command.lane)];
    EXPECT_EQ(lane.start_ns[static_cast<size_t>(slice)], 2200);
    EXPECT_EQ(runs[0]->devices[static_cast<size_t>(lane.device)].label, "GPU:0");
    EXPECT_EQ(lane.op[static_cast<size_t>(slice)], op);
  }
  const auto gpu = std::find_if(runs[0]->devices.begin(), runs[0]->devices.end(),
                                [](const RunDevice& device) { return device.label == "GPU:0"; });
  EXPECT_EQ(gpu->peak_bytes, 1096);
}

TEST(TraceLoaderTest, ReadsExportsOfEveryVersion) {
  for (const traces::ExportVersion& version : traces::ExportVersions()) {
    SCOPED_TRACE(version.name);
    traces::ScratchFile file("export.sqlite");
    traces::WriteTwoProcesses(file.path(), version);
    const auto runs = LoadTrace(file.path(), nullptr, nullptr);
    ASSERT_EQ(runs.size(), 1u);
    const RunData& run = *runs[0];
    EXPECT_TRUE(run.foreign);
    traces::TraceReader reader(file.path());
    const traces::TraceRun whole = reader.ReadRun(1);
    auto expected = TimesOf(whole.launches);
    const auto memsets = TimesOf(whole.memsets);
    expected.insert(expected.end(), memsets.begin(), memsets.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(TimesOf(run, {LaneRole::kCompute}), expected);
    EXPECT_EQ(TimesOf(run, {LaneRole::kCopyIn, LaneRole::kCopyOut, LaneRole::kCopyWithin}),
              TimesOf(whole.copies));
    std::map<std::string, int64_t> per_device, expected_per_device;
    for (const Lane& lane : run.lanes) {
      if (lane.role != LaneRole::kCompute) continue;
      per_device[run.devices[static_cast<size_t>(lane.device)].label] += static_cast<int64_t>(lane.size());
    }
    for (const traces::TraceLaunch& launch : whole.launches)
      ++expected_per_device[whole.DeviceLabel(launch.device)];
    for (const traces::TraceMemset& memset : whole.memsets)
      ++expected_per_device[whole.DeviceLabel(memset.device)];
    EXPECT_EQ(per_device, expected_per_device);
    EXPECT_EQ(TimesOf(run, {LaneRole::kThread}).size(), whole.api_calls.size() + whole.ranges.size());
  }
}

TEST(TraceLoaderTest, EmptyTracesSaySo) {
  traces::ScratchFile file;
  const traces::TraceWriter writer(file.path());  // which takes a trace without runs away when it closes
  std::vector<std::shared_ptr<const RunData>> runs;
  const LoadState state = StateOf(file.path(), &runs);
  EXPECT_EQ(state.phase, LoadState::Phase::kDone);
  EXPECT_TRUE(runs.empty());
  EXPECT_NE(state.message.find("without runs"), std::string::npos);
}

TEST(TraceLoaderTest, IncompleteRunsLoadAndSaySo) {
  traces::ScratchFile file;
  traces::SampleRun sample;
  traces::TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Sink(run)->Consume(traces::SampleRun::StepEvents(0, 0));
  writer.Flush();
  std::vector<std::shared_ptr<const RunData>> runs;
  const LoadState state = StateOf(file.path(), &runs);
  EXPECT_EQ(state.phase, LoadState::Phase::kDone);
  EXPECT_NE(state.message.find("incomplete"), std::string::npos);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0]->complete);
  EXPECT_EQ(runs[0]->num_slices, 6);
}

TEST(TraceLoaderTest, BrokenFilesFailWithOneLine) {
  traces::ScratchFile missing, text, other;
  std::ofstream(text.path()) << std::string(5000, 'x');
  traces::Database(other.path(), traces::OpenMode::kCreate).Execute("CREATE TABLE people (name TEXT)");
  for (const std::string& path : {missing.path(), text.path(), other.path(), missing.folder().string()}) {
    const LoadState state = StateOf(path);
    EXPECT_EQ(state.phase, LoadState::Phase::kFailed) << path;
    EXPECT_FALSE(state.message.empty());
    EXPECT_EQ(state.message.find('\n'), std::string::npos);
  }
}

// A trace that has lost or gained any bytes loads or fails, and nothing else happens.
TEST(TraceLoaderTest, DamagedFilesLoadOrFail) {
  traces::ScratchFile file, damaged("damaged.db");
  traces::SampleRun sample;
  traces::TraceWriter writer(file.path());
  sample.WriteTo(&writer, 200);
  writer.Close();
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::mt19937 rng(1);
  int loaded = 0, failed = 0;
  for (int i = 0; i < 150; ++i) {
    std::string changed = bytes;
    if (i % 3 == 0) {
      changed.resize(rng() % bytes.size());
    } else {
      for (int k = 0; k < (i % 3 == 1 ? 8 : 400); ++k)
        changed[100 + rng() % (bytes.size() - 100)] = static_cast<char>(rng());
    }
    std::ofstream(damaged.path(), std::ios::binary | std::ios::trunc) << changed;
    const LoadState state = StateOf(damaged.path());
    state.phase == LoadState::Phase::kDone ? ++loaded : ++failed;
    EXPECT_NE(state.phase, LoadState::Phase::kLoading);
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(loaded + failed, 149);
}

TEST(TraceLoaderTest, RowsThatMakeNoSenseAreCounted) {
  traces::ScratchFile file("export.sqlite");
  traces::Database database(file.path(), traces::OpenMode::kCreate);
  database.Execute(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'gemm');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, shortName "
      "INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 5, 0, 1), (NULL, 5, 0, 1), (0, "
      "9223372036854775807, 0, 1),"
      "(10, 20, 0, 77), (20, 30, 0, 1)");
  std::vector<std::shared_ptr<const RunData>> runs;
  const LoadState state = StateOf(file.path(), &runs);
  ASSERT_EQ(state.phase, LoadState::Phase::kDone) << state.message;
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]->num_slices, 2);
  EXPECT_EQ(runs[0]->invalid_rows, 3);
  EXPECT_NE(state.message.find("3 unusable rows"), std::string::npos);
}

// A launch of a whole graph at a time since 1970, and a peer copy from GPU 0 to GPU 1, which the process
// calls 1 and 0.
TEST(TraceLoaderTest, WholeGraphsAndCopiesBetweenDevicesByOtherNumbers) {
  traces::ScratchFile file("export.sqlite");
  traces::Database(file.path(), traces::OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, graphId INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1750000000000000000, 1750000000000000400, 5);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, globalPid "
          "INTEGER, bytes INTEGER, copyKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1750000000000000100, 1750000000000000200, 0, 200 "
          "<< 24, "
          "8, 10, 1, 0);"
          "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
          "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 200), (0, 1, 200)");
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]->invalid_rows, 0);
  std::vector<std::string> links;
  for (const Lane& lane : runs[0]->lanes) {
    if (lane.role == LaneRole::kLink) links.push_back(lane.label);
  }
  EXPECT_EQ(links, std::vector<std::string>{"GPU:0 → GPU:1"});
  EXPECT_TRUE(std::any_of(runs[0]->ops.begin(), runs[0]->ops.end(),
                          [](const OpEntry& op) { return op.name == "[CUDA graph 5]" && op.op == "Graph"; }));
}

// Input: a copy to GPU 0, one from it and one within it. Law: each lies in the lane that its way names.
TEST(TraceLoaderTest, CopiesLieInTheLanesOfTheirWays) {
  traces::ScratchFile file("export.sqlite");
  traces::Database(file.path(), traces::OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, bytes "
          "INTEGER, copyKind INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 10, 0, 64, 1), (20, 30, 0, 64, 2), (40, 50, 0, "
          "64, 8)");
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  std::map<std::string, int64_t> starts;  // of the first slice of each lane of copies
  for (const Lane& lane : runs[0]->lanes) {
    if (lane.role == LaneRole::kLink || !lane.is_copy()) continue;
    EXPECT_EQ(lane.size(), 1u);
    starts[lane.label] = lane.start_ns[0];
  }
  EXPECT_EQ(starts, (std::map<std::string, int64_t>{{"copy in", 0}, {"copy out", 20}, {"copy within", 40}}));
}

// Input: 300,000 kernels of two streams in turns, and as many copies: every lane is longer than the pieces in
// which slices are collected. Law: lane k holds every slice of its stream, copies their bytes.
TEST(TraceLoaderTest, LongLanesAreWhole) {
  constexpr int64_t kRows = 300'000;
  traces::ScratchFile file("export.sqlite");
  traces::Database(file.path(), traces::OpenMode::kCreate)
      .Execute(fmt::format(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, streamId INTEGER);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER, "
          "copyKind INTEGER);"
          "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {0} - 1) "
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 10, i * 10 + 9, i % 2 FROM c;"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start, end, start, 1 FROM "
          "CUPTI_ACTIVITY_KIND_KERNEL",
          kRows));
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  int streams = 0;
  for (const Lane& lane : runs[0]->lanes) {
    const bool copies = !lane.bytes.empty();
    ASSERT_EQ(lane.size(), static_cast<size_t>(copies ? kRows : kRows / 2)) << lane.label;
    ASSERT_EQ(lane.rows.size(), 1u);
    const int64_t first = lane.start_ns[0], period = copies ? 10 : 20;
    if (!copies) ++streams;
    for (size_t i = 0; i < lane.size(); ++i) {
      ASSERT_EQ(lane.start_ns[i], first + static_cast<int64_t>(i) * period);
      if (copies) {
        ASSERT_EQ(lane.bytes[i], lane.start_ns[i]);
      }
    }
  }
  EXPECT_EQ(streams, 2);
}

// A thread that fills a queue has a lane of its own, in which it waits too, and so have the run's waits; the
// queue is a counter.
TEST(TraceLoaderTest, WhatFillsQueuesHasLanes) {
  traces::ScratchFile file;
  traces::SampleRun sample;
  traces::TraceWriter writer(file.path());
  const int number = writer.BeginRun(sample.info());
  writer.AddSchedule(number, sample.schedule());
  writer.Sink(number)->Consume(traces::SampleRun::StepEvents(0, 0));
  InputRecord input;
  input.threads = {{0, "fill", "q"}};
  input.queues = {{0, "queue 'q'", 8, 0}};
  input.steps = {{0, 0, 0, 900}};
  input.waits = {{kNoInputThread, 0, 0, 0, 0, 100}, {0, 0, 1, 0, 200, 300}};
  input.fills = {{0, 0, 1}, {0, 500, 8}};
  writer.AddInput(number, input);
  writer.EndRun(number, {});
  writer.Close();
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  const RunData& run = *runs[0];
  std::vector<std::string> shown;
  for (const Lane& lane : run.lanes) {
    if (lane.role == LaneRole::kQueueFill) {
      EXPECT_TRUE(lane.is_counter());
      EXPECT_EQ(lane.counter_value, (std::vector<int64_t>{1, 8}));
      shown.push_back(lane.label);
    }
    if (lane.role != LaneRole::kThread) continue;
    for (size_t i = 0; i < lane.size(); ++i)
      shown.push_back(lane.label + ": " + run.ops[static_cast<size_t>(lane.op[i])].name);
  }
  EXPECT_EQ(shown, (std::vector<std::string>{"queue 'q' of 8", "input 1: fill: fill",
                                             "input 1: fill: waits for queue 'q'",
                                             "steps wait: waits for queue 'q'"}));
  // Waiting is no work of a device.
  for (const OpEntry& op : run.ops) {
    EXPECT_TRUE(!op.name.starts_with("waits") || op.ns == 0) << op.name;
  }
}

TEST(TraceLoaderTest, CancelEndsTheLoad) {
  traces::ScratchFile file;
  traces::SampleRun sample;
  traces::TraceWriter writer(file.path());
  sample.WriteTo(&writer, 20000);
  writer.Close();
  TraceLoad load(file.path(), nullptr);
  load.Cancel();
  while (load.state().phase == LoadState::Phase::kLoading) std::this_thread::yield();
  const LoadState::Phase phase = load.state().phase;
  EXPECT_TRUE(phase == LoadState::Phase::kCancelled || phase == LoadState::Phase::kDone);
}

}  // namespace
}  // namespace lanescope::gui
