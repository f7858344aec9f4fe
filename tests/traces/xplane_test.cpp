// SPDX-License-Identifier: Apache-2.0
// XPlane files of TensorFlow and JAX, made here with their truth beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/protobuf_wire.h"
#include "tests/traces/imported.h"
#include "traces/import/import.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// Times are us.
class PlaneWriter {
 public:
  explicit PlaneWriter(const std::string& name) { plane_.Bytes(2, name); }

  struct Event {
    std::string name;
    int64_t start_us = 0, length_us = 0;
    std::map<std::string, int64_t> numbers = {};
    std::map<std::string, std::string> texts = {};
  };
  PlaneWriter& Line(int64_t id, const std::string& name, const std::vector<Event>& events) {
    WireWriter line;
    line.Signed(1, id).Bytes(2, name).Signed(3, 0);
    for (const Event& event : events) {
      WireWriter written;
      written.Signed(1, Number(&events_, event.name)).Signed(2, event.start_us * 1'000'000);
      written.Signed(3, event.length_us * 1'000'000);
      for (const auto& [key, value] : event.numbers)
        written.Nested(4, WireWriter().Signed(1, Number(&stats_, key)).Signed(4, value));
      for (const auto& [key, value] : event.texts)
        written.Nested(4, WireWriter().Signed(1, Number(&stats_, key)).Bytes(5, value));
      line.Nested(4, written);
    }
    plane_.Nested(3, line);
    return *this;
  }
  PlaneWriter& Stat(const std::string& key, int64_t value) {
    plane_.Nested(6, WireWriter().Signed(1, Number(&stats_, key)).Signed(3, value));
    return *this;
  }
  WireWriter Take() {
    for (const auto& [field, names] : {std::pair(4, &events_), std::pair(5, &stats_)}) {
      for (const auto& [name, number] : *names)
        plane_.Nested(
            field, WireWriter().Signed(1, number).Nested(2, WireWriter().Signed(1, number).Bytes(2, name)));
    }
    return plane_;
  }

 private:
  static int64_t Number(std::map<std::string, int64_t>* numbers, const std::string& name) {
    return numbers->try_emplace(name, std::ssize(*numbers) + 1).first->second;
  }
  WireWriter plane_;
  std::map<std::string, int64_t> events_, stats_;
};

std::string Space(std::vector<PlaneWriter> planes, const std::string& host = "node7") {
  WireWriter space;
  for (PlaneWriter& plane : planes) space.Nested(1, plane.Take());
  return space.Bytes(4, host).bytes();
}

Imported ImportOfSpace(std::vector<PlaneWriter> planes) {
  ScratchFile in("host.xplane.pb");
  WriteFile(in.path(), Space(std::move(planes)));
  return ImportOf(in.path());
}

// Steps 10 to 12 are called "train"; each kernel runs 1 ms after its call, when the host is in the next.
// Calls stand among what the thread annotates, or have a plane of their own.
TEST(XPlaneTest, StepsByTheirNumberAndCallsOfEitherPlane) {
  for (const bool merged : {true, false}) {
    PlaneWriter gpu("/device:GPU:0"), threads("/host:CPU"), calls("/host:CUPTI");
    std::vector<PlaneWriter::Event> kernels, ranges, launches;
    for (int i = 0; i < 3; ++i) {
      kernels.push_back({"fusion", 1000 * i + 1100, 600, {{"correlation_id", i + 1}}});
      ranges.push_back({"train", 1000 * i, 900, {{"step_num", 10 + i}}});
      launches.push_back({"cuLaunchKernel", 1000 * i + 100, 5, {{"correlation_id", i + 1}}});
    }
    gpu.Line(13, "Stream #13(Compute)", kernels);
    if (merged) ranges.insert(ranges.end(), launches.begin(), launches.end());
    threads.Line(8, "python", ranges);
    if (!merged) calls.Line(8, "python", launches);
    const auto [counts, run, summary] = ImportOfSpace({gpu, threads, calls});
    EXPECT_EQ(counts.api_calls, 3);
    EXPECT_EQ(counts.ranges, 3);
    ASSERT_EQ(run.steps.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(run.steps[i].step, 10 + static_cast<int>(i));
      EXPECT_EQ(run.launches.at(i).step, 10 + static_cast<int>(i));
      ASSERT_GE(run.launches[i].api, 0);
      EXPECT_EQ(run.launches[i].start_ns - run.api_calls.at(static_cast<size_t>(run.launches[i].api)).end_ns,
                995'000);
    }
  }
}

// A number of a step may be written as a text.
TEST(XPlaneTest, StepsWhoseNumbersAreTexts) {
  PlaneWriter gpu("/device:GPU:0"), threads("/host:CPU");
  gpu.Line(13, "Stream #13(Compute)", {{"fusion", 100, 600}, {"fusion", 1100, 600}});
  threads.Line(8, "python",
               {{"train", 0, 900, {}, {{"step_num", "30"}}}, {"train", 1000, 900, {}, {{"step_num", "31"}}}});
  const Imported imported = ImportOfSpace({gpu, threads});
  ASSERT_EQ(imported.run.steps.size(), 2u);
  EXPECT_EQ(imported.run.steps[0].step, 30);
  EXPECT_EQ(imported.run.steps[1].step, 31);
}

// The core computes 20 of 50 ms; a copy runs beside it from 5 to 35 ms.
TEST(XPlaneTest, WhatATpuMovesBesideItsCoreIsNoOpOfIt) {
  PlaneWriter tpu("/device:TPU:0");
  tpu.Line(1, "XLA Ops", {{"fusion.1", 0, 10'000}, {"fusion.2", 40'000, 10'000}});
  tpu.Line(2, "Async XLA Ops", {{"copy-start.1", 5'000, 30'000}});
  const auto [counts, run, summary] = ImportOfSpace({tpu});
  EXPECT_EQ(counts.copies, 1);
  const DeviceTime& time = summary.devices.at(0);
  EXPECT_EQ(time.window_ns, 50'000'000);
  EXPECT_EQ(time.compute_ns, 20'000'000);
  EXPECT_EQ(time.idle_ns, 5'000'000);
  EXPECT_EQ(summary.host_activities.size(), 2u);
  EXPECT_EQ(summary.communication.compute_ns, 20'000'000);
  EXPECT_EQ(summary.communication.exposed_ns, 25'000'000);
}

// A collective moves data between the cores of several TPUs; steps of the device count where the host tells
// none.
TEST(XPlaneTest, CollectivesAndStepsOfATpu) {
  PlaneWriter tpu("/device:TPU:0"), other("/device:TPU:1");
  tpu.Line(0, "Steps", {{"7", 0, 10'000}, {"8", 20'000, 10'000}});
  tpu.Line(1, "XLA Ops", {{"fusion.1", 0, 10'000}, {"fusion.1", 20'000, 10'000}});
  tpu.Line(2, "Async XLA Ops", {{"all-gather-start.2", 2'000, 4'000}, {"copy-start.1", 21'000, 1'000}});
  other.Line(0, "Steps", {{"7", 0, 9'000}, {"8", 20'000, 9'000}});
  other.Line(1, "XLA Ops", {{"fusion.1", 0, 9'000}});
  const auto [counts, run, summary] = ImportOfSpace({tpu, other});
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[0].step, 7);
  EXPECT_EQ(run.steps[1].start_ns - run.steps[0].start_ns, 20'000'000);
  EXPECT_EQ(counts.left_out.at("Steps"), 2);
  ASSERT_EQ(run.copies.size(), 2u);
  EXPECT_EQ(run.copies[0].kind, 10);  // between devices
  EXPECT_EQ(run.copies[1].kind, 8);

  PlaneWriter host("/host:CPU");
  host.Line(9, "python",
            {{"train", 0, 15'000, {{"step_num", 40}}}, {"train", 15'000, 20'000, {{"step_num", 41}}}});
  const auto told = ImportOfSpace({tpu, host});
  ASSERT_EQ(told.run.steps.size(), 2u);
  EXPECT_EQ(told.run.steps[0].step, 40);
}

// Two days after 1970 a kernel and one that has no time, and a copy to the second GPU.
TEST(XPlaneTest, ATimeOf0IsNoneAndCopiesSayTheirEnds) {
  constexpr int64_t kLate = int64_t{2} * 86'400 * 1'000'000;
  PlaneWriter gpu("/device:GPU:0");
  gpu.Line(int64_t{94'012'345'678'912}, "Stream #94012345678912(Compute)",
           {{"k", kLate, 300},
            {"k", 0, 0},
            {"MemcpyP2P", kLate + 500, 100, {}, {{"memcpy_details", "size:4096 dest:1 async:1"}}}});
  const auto [counts, run, summary] = ImportOfSpace({gpu});
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(summary.devices.at(0).window_ns, 600'000);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].src, 0);
  EXPECT_EQ(run.copies[0].dst, 1);
  ASSERT_EQ(run.streams.size(), 1u);
  EXPECT_EQ(run.Text(run.streams[0].name), "stream 94012345678912");
}

// A command buffer's kernels say of their op no more than that a module of XLA has it.
TEST(XPlaneTest, KernelsOfCommandBuffersHaveTheirNamesAndNodes) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.Line(14, "Stream #14(Compute)",
           {{"gemm_fusion",
             1,
             5,
             {{"cuda_graph_id", 2}, {"cuda_graph_node_id", 8589934592}},
             {{"tf_op", "XlaModule:"}}},
            {"other", 10, 5, {}, {{"tf_op", "jit(f)/dot:"}}}});
  ScratchFile in("host.xplane.pb"), out("out.db");
  WriteFile(in.path(), Space({gpu}));
  ImportTraces({in.path()}, out.path());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  EXPECT_EQ(run.Text(run.launches.at(0).op), "gemm_fusion");
  EXPECT_EQ(run.Text(run.launches.at(1).op), "jit(f)/dot:");
  Database database(out.path(), OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryInteger("SELECT graphId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 0"), 2);
  EXPECT_EQ(database.QueryInteger("SELECT graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 0"),
            8589934592);
}

// A compressed file is what it is without; one that ends early is damaged.
TEST(XPlaneTest, Compressed) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.Line(14, "Stream #14(Compute)", {{"fusion", 1, 5}});
  ScratchFile in("host.xplane.pb.gz");
  const std::string space = Space({gpu});
  const gzFile file = gzopen(in.path().c_str(), "wb");
  gzwrite(file, space.data(), static_cast<unsigned>(space.size()));
  gzclose(file);
  EXPECT_EQ(ImportOf(in.path()).run.launches.size(), 1u);
  const std::string packed = ReadFile(in.path());
  WriteFile(in.path(), packed.substr(0, packed.size() - 12));
  EXPECT_EQ(CodeOfImport(in.path(), "is damaged"), Code::kDataLoss);
}

TEST(XPlaneTest, OpsOfACpuThatNameTheirDeviceRanOnIt) {
  PlaneWriter threads("/host:CPU");
  threads.Line(8, "tf_XLAEigen/8", {{"dot.3", 10, 50, {{"device_ordinal", 0}}}, {"wait", 0, 90}});
  threads.Line(9, "tf_XLAEigen/9", {{"add.4", 20, 50, {{"device_ordinal", 1}}}});
  const auto [counts, run, summary] = ImportOfSpace({threads});
  EXPECT_EQ(counts.ranges, 1);
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.DeviceLabel(run.launches[0].device), "CPU:0");
  EXPECT_EQ(run.DeviceLabel(run.launches[1].device), "CPU:1");
}

// Both began a kernel at one moment; b began to record 0.6 s later. The JSON beside a says what a says.
TEST(XPlaneTest, HostsOfAJobByTheStartOfTheirProfiles) {
  ScratchFile folder("job"), out("out.db");
  std::filesystem::create_directory(folder.path());
  for (const auto& [name, late_us] : {std::pair("a", 0), std::pair("b", 600'000)}) {
    PlaneWriter gpu("/device:GPU:0"), environment("Task Environment");
    gpu.Line(14, "Stream #14(Compute)", {{"k", 1'000'000 - late_us, 5}});
    environment.Stat("profile_start_time", 1'795'793'456'000'000'000 + 1000 * int64_t{late_us});
    WriteFile(folder.path() + "/" + name + ".xplane.pb", Space({gpu, environment}, name));
  }
  WriteFile(folder.path() + "/a.trace.json.gz",
            R"({"traceEvents": [{"ph": "X", "pid": 1, "tid": 14, "ts": 1, "dur": 5, "name": "k"}]})");
  const ImportCounts counts = ImportTraces({folder.path()}, out.path());
  std::filesystem::remove_all(folder.path());
  EXPECT_TRUE(counts.other_files.empty());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.launches[0].start_ns, run.launches[1].start_ns);
}

}  // namespace
}  // namespace lanescope::traces
