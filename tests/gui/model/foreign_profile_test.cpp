// SPDX-License-Identifier: Apache-2.0
// Profiles of other tools in the timeline: names of lanes, ranks and machines, and opening them as they are.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "gui/model/trace_loader.h"
#include "tests/traces/sample_run.h"
#include "traces/import/import.h"

namespace lanescope::gui {
namespace {

// Lanes of another tool's streams say whose they are, and annotations lie above what ran.
TEST(ForeignProfileTest, LanesOfAnImportHaveNames) {
  traces::ScratchFile zero("0.json"), one("1.json"), out;
  std::ofstream(zero.path()) << R"({"distributedInfo": {"rank": 0}, "traceEvents": [
    {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 main"}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 9, "args": {}}]})";
  std::ofstream(one.path()) << R"({"distributedInfo": {"rank": 1}, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "pid": 0, "tid": 9, "ts": 1, "dur": 9,
     "args": {}}]})";
  std::filesystem::remove(out.path());
  traces::ImportTraces({zero.path(), one.path()}, out.path());
  const auto runs = LoadTrace(out.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  std::vector<std::string> labels;
  for (const Lane& lane : runs[0]->lanes) labels.push_back(lane.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"rank 0 GPU:0 stream 7 main annotations",
                                              "rank 0 GPU:0 stream 7 main", "rank 1 GPU:0 stream 9 (NCCL)"}));
}

// Ranks 0 and 2 ran on node8, rank 1 on node7. Law: machines stand in the order of their first ranks, and in
// each its ranks.
TEST(ForeignProfileTest, RanksStandByTheirMachines) {
  traces::ScratchFile out;
  std::vector<std::string> files;
  for (const auto& [rank, host] : {std::pair(2, "node8"), std::pair(1, "node7"), std::pair(0, "node8")}) {
    files.push_back((out.folder() / fmt::format("{}.json", rank)).string());
    std::ofstream(files.back()) << fmt::format(
        R"({{"distributedInfo": {{"rank": {}}}, "host_name": "{}", "traceEvents": [
        {{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 9, "args": {{}}}}]}})",
        rank, host);
  }
  traces::ImportTraces(files, out.path());
  const auto run = LoadTrace(out.path(), nullptr, nullptr).at(0);
  std::vector<std::string> titles;
  for (const LaneGroup& group : run->groups) {
    titles.push_back((group.parent < 0 ? "" : run->groups[static_cast<size_t>(group.parent)].title + "/") +
                     group.title);
  }
  EXPECT_EQ(titles,
            (std::vector<std::string>{"node8", "node8/rank 0", "node8/rank 2", "node7", "node7/rank 1"}));
  EXPECT_EQ(run->hosts, (std::vector<std::string>{"node8", "node7"}));
}

// The profiler's span around all that it recorded, and two of another one after each other. Law: a lane of
// one span says nothing; lanes of several stay.
TEST(ForeignProfileTest, AProfilersOwnSpanHasNoLane) {
  traces::ScratchFile json("trace.json"), out;
  std::ofstream(json.path()) << R"json({"traceEvents": [
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
     "ts": 0, "dur": 1000},
    {"ph": "X", "cat": "Trace", "name": "first", "pid": "Traces", "tid": "Trace", "ts": 0, "dur": 4},
    {"ph": "X", "cat": "Trace", "name": "second", "pid": "Traces", "tid": "Trace", "ts": 6, "dur": 4},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 9, "args": {}}]})json";
  std::filesystem::remove(out.path());
  traces::ImportTraces({json.path()}, out.path());
  const auto run = LoadTrace(out.path(), nullptr, nullptr).at(0);
  std::vector<std::string> labels;
  for (const Lane& lane : run->lanes) labels.push_back(lane.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"GPU:0 stream 7", "Traces"}));
  EXPECT_EQ(run->end_ns, 10'000);
}

// A profile of another tool, and a folder of them. Law: they open as they are, under their own names.
TEST(ForeignProfileTest, ProfilesAreImportedOnTheWay) {
  traces::ScratchFile in("in.db");
  const std::string folder = (in.folder() / "ranks").string(), into = (in.folder() / "into").string();
  std::filesystem::create_directory(folder);
  for (const int rank : {0, 1}) {
    std::ofstream(fmt::format("{}/rank{}.json", folder, rank)) << fmt::format(
        R"({{"distributedInfo": {{"rank": {}}}, "traceEvents": [{{"ph": "s", "cat": "fwdbwd"}},
        {{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 9, "args": {{}}}}]}})",
        rank);
  }
  for (const std::string& path : {folder + "/rank0.json", folder + "/"}) {
    std::filesystem::create_directory(into);
    TraceLoad load(path, nullptr, [&] { return into; });
    while (load.state().phase == LoadState::Phase::kLoading) std::this_thread::yield();
    const LoadState state = load.state();
    ASSERT_EQ(state.phase, LoadState::Phase::kDone) << state.message;
    const auto run = load.TakeRuns().at(0);
    const bool one = path.ends_with(".json");
    EXPECT_EQ(run->title, one ? "rank0.json" : "ranks");
    EXPECT_EQ(run->source, path);
    EXPECT_EQ(run->file, state.file);
    EXPECT_TRUE(run->file.starts_with(into));
    EXPECT_EQ(run->devices.size(), one ? 1u : 2u);
    EXPECT_NE(state.message.find(one ? "imported 1 kernels" : "imported 2 kernels"), std::string::npos);
    EXPECT_NE(state.message.find("left out: "), std::string::npos);
    std::filesystem::remove_all(into);
  }
  std::filesystem::create_directory(into);
  TraceLoad load(into, nullptr, [&] { return into; });
  while (load.state().phase == LoadState::Phase::kLoading) std::this_thread::yield();
  EXPECT_EQ(load.state().phase, LoadState::Phase::kFailed);
  EXPECT_EQ(load.state().code, Code::kNotFound);
}
}  // namespace
}  // namespace lanescope::gui
