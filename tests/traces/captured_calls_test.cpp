// SPDX-License-Identifier: Apache-2.0
// Nodes of CUDA graphs stand in the ranges in which they were recorded.
#include "traces/read/captured_calls.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "tests/traces/shared_traces.h"

namespace lanescope::traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Events of a Kineto trace, one each; times in us.
class Events {
 public:
  Events& Add(const std::string& category, const std::string& name, int tid, int start, int length,
              const std::string& args) {
    text_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        text_.empty() ? "" : ",\n", category, name, tid == kStream ? 0 : 99, tid, start, length, args);
    return *this;
  }
  Events& Call(const std::string& name, int start, int correlation, const std::string& more = "") {
    return Add("cuda_runtime", name, 99, start, 5, fmt::format(R"("correlation": {}{})", correlation, more));
  }
  // A call that launches `kernel`, as ROCm's profiler names it.
  Events& Launch(int start, int correlation, const std::string& kernel = "") {
    return Call("hipLaunchKernel", start, correlation,
                kernel.empty() ? "" : fmt::format(R"(, "kernel": "{}")", kernel));
  }
  Events& Range(const std::string& name, int start, int length) {
    return Add("python_function", name, 99, start, length, "");
  }
  Events& Kernel(const std::string& name, int start, int correlation, const std::string& more = "",
                 int stream = kStream) {
    return Add("kernel", name, kStream, start, 5,
               fmt::format(R"("stream": {}, "correlation": {}{})", stream, correlation, more));
  }
  std::string Text() const { return "[" + text_ + "]"; }

 private:
  static constexpr int kStream = 7;
  std::string text_;
};

// Two modules record a kernel each, from `start` on: "gemm" by Linear_0, "gelu" by GELU_0.
void AddCapture(Events* events, int start, bool named = true) {
  events->Call("hipStreamBeginCapture", start, 1)
      .Range("nn.Module: Linear_0", start + 10, 20)
      .Range("model.py(7): forward", start + 11, 18)
      .Range("torch/nn/functional.py(9): linear", start + 12, 16)
      .Launch(start + 15, 2, named ? "gemm" : "")
      .Range("nn.Module: GELU_0", start + 40, 20)
      .Launch(start + 45, 3, named ? "gelu" : "")
      .Call("hipStreamEndCapture", start + 70, 4);
}

std::vector<std::string> PlacesOf(const TraceRun& run) {
  std::vector<std::string> places;
  for (const TraceLaunch& launch : run.launches)
    places.push_back(launch.range < 0 ? "" : run.Text(run.ranges[static_cast<size_t>(launch.range)].text));
  return places;
}

Imported ImportOfEvents(const Events& events) {
  ScratchFile in("graph.json");
  WriteFile(in.path(), events.Text());
  return ImportOf(in.path());
}

TEST(CapturedCallsTest, KernelsByTheNamesThatCallsHave) {
  Events events;
  AddCapture(&events, 0);
  events.Range("decode", 100, 50).Call("hipGraphLaunch", 110, 9);
  events.Kernel("gelu", 130, 9).Kernel("gemm", 120, 9);
  const TraceRun run = ImportOfEvents(events).run;
  EXPECT_THAT(PlacesOf(run), ElementsAre("nn.Module: GELU_0", "torch/nn/functional.py(9): linear"));
  EXPECT_EQ(run.joined_graphs, 1);
  EXPECT_EQ(run.unjoined_graphs, 0);
}

// Kernels of another graph stay where the graph was launched, and a note says so.
TEST(CapturedCallsTest, OtherSequencesAreNotJoined) {
  for (const bool fewer : {false, true}) {
    Events events;
    AddCapture(&events, 0);
    events.Range("decode", 100, 50).Call("hipGraphLaunch", 110, 9).Kernel("gemm", 120, 9);
    if (!fewer) events.Kernel("tanh", 130, 9);
    ScratchFile in("graph.json"), out("out.db");
    WriteFile(in.path(), events.Text());
    ImportTraces({in.path()}, out.path());
    const TraceRun run = TraceReader(out.path()).ReadRun(1);
    EXPECT_THAT(PlacesOf(run), testing::Each("decode"));
    EXPECT_EQ(run.unjoined_graphs, 1);
    SummaryOptions options;
    options.ranges = true;
    EXPECT_THAT(Summarize(out.path(), 1, options).notes,
                testing::Contains(HasSubstr("1 of 1 launches of CUDA graphs ran what no recorded capture")));
  }
}

// CUDA names no kernels in calls: nodes are in the order of their ids, whatever their streams and times.
TEST(CapturedCallsTest, NodesInTheOrderOfTheirIds) {
  const auto node = [](int64_t index) {
    return fmt::format(R"(, "graph node id": {})", (int64_t{5} << 32) + index);
  };
  Events events;
  AddCapture(&events, 0, false);
  events.Range("decode", 100, 50).Call("hipGraphLaunch", 110, 9);
  events.Kernel("gelu", 120, 9, node(1), 8).Kernel("gemm", 130, 9, node(0));
  EXPECT_THAT(PlacesOf(ImportOfEvents(events).run),
              ElementsAre("nn.Module: GELU_0", "torch/nn/functional.py(9): linear"));
  // Without ids two streams have no order.
  Events unordered;
  AddCapture(&unordered, 0, false);
  unordered.Range("decode", 100, 50).Call("hipGraphLaunch", 110, 9);
  unordered.Kernel("gelu", 120, 9, "", 8).Kernel("gemm", 130, 9);
  EXPECT_THAT(PlacesOf(ImportOfEvents(unordered).run), testing::Each("decode"));
}

// Layers record equal graphs: their executables tell which is which, in the order of their ids.
TEST(CapturedCallsTest, EqualCapturesByExecutable) {
  for (const bool with_ids : {true, false}) {
    Events events;
    for (const int layer : {0, 1}) {
      const int start = 100 * layer;
      events.Call("cudaStreamBeginCapture", start, 10 * layer + 1)
          .Range(fmt::format("nn.Module: Block_{}", layer), start + 10, 20)
          .Call("cudaLaunchKernel", start + 15, 10 * layer + 2)
          .Call("cudaStreamEndCapture", start + 40, 10 * layer + 3);
    }
    events.Range("decode", 300, 50);
    for (const int layer : {1, 0}) {
      const int start = 310 + 10 * (1 - layer);
      events.Call("cudaGraphLaunch", start, 90 + layer);
      events.Kernel("gemm", start + 30, 90 + layer,
                    with_ids ? fmt::format(R"(, "graph node id": {})", int64_t{4 + layer} << 32) : "");
    }
    const std::vector<std::string> places = PlacesOf(ImportOfEvents(events).run);
    if (with_ids) {
      EXPECT_THAT(places, ElementsAre("nn.Module: Block_1", "nn.Module: Block_0"));
    } else {
      EXPECT_THAT(places, ElementsAre("decode", "decode"));
    }
  }
}

// An engine's pair of traces: of the capture its calls and their ranges alone, before the first event.
TEST(CapturedCallsTest, AnEnginesPairOfTraces) {
  ScratchFile capture("capture.json"), execution("execution.json"), out("out.db");
  Events recorded, ran;
  AddCapture(&recorded, 5000);
  recorded.Launch(6000, 8, "warm").Kernel("warm", 6100, 8).Range("elsewhere", 6200, 10);
  ran.Range("decode", 100, 50).Call("hipGraphLaunch", 110, 2).Kernel("gemm", 120, 2).Kernel("gelu", 130, 2);
  WriteFile(capture.path(), recorded.Text());
  WriteFile(execution.path(), ran.Text());
  ImportTraces({execution.path()}, out.path(), nullptr, {}, {capture.path()});
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  EXPECT_THAT(PlacesOf(run), ElementsAre("torch/nn/functional.py(9): linear", "nn.Module: GELU_0"));
  EXPECT_EQ(run.launches.front().step, -1);
  for (const TraceRange& range : run.ranges) {
    EXPECT_NE(run.Text(range.text), "elsewhere");
    if (run.Text(range.text) == "decode") {
      EXPECT_EQ(run.launches.front().start_ns - range.start_ns, 20'000);
    } else {
      EXPECT_LT(range.end_ns, run.launches.front().start_ns - 20'000);
    }
  }
  SummaryOptions options;
  options.ranges = true;
  options.place = ProgramPlace::kModule;
  std::vector<std::string> names;
  for (const RangeRow& row : Summarize(out.path(), 1, options).ranges) names.push_back(row.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("Linear_0", "GELU_0"));
  options.place = ProgramPlace::kLine;
  names.clear();
  for (const RangeRow& row : Summarize(out.path(), 1, options).ranges) names.push_back(row.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("model.py(7): forward", "(no line is recorded)"));
}

TEST(CapturedCallsTest, ACaptureWithoutGraphsIsRefused) {
  ScratchFile in("execution.json"), out("out.db");
  WriteFile(in.path(), Events().Launch(1, 2).Kernel("k", 10, 2).Text());
  try {
    ImportTraces({in.path()}, out.path(), nullptr, {}, {in.path()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr("records no CUDA graph"));
  }
}

// vLLM on an MI300X: 421 kernels of one graph launch, each with a module, as the product after it.
TEST(CapturedCallsTest, ADecodeStepOfVllm) {
  const std::string capture = SharedTrace("tracelens", "vllm_decode_capture.json.gz"),
                    execution = SharedTrace("tracelens", "vllm_decode_execution.json.gz");
  if (capture.empty() || execution.empty()) GTEST_SKIP() << "no shared traces";
  ScratchFile out("out.db");
  ImportTraces({execution}, out.path(), nullptr, {}, {capture});
  SummaryOptions options;
  options.ranges = true;
  options.place = ProgramPlace::kModule;
  const Summary summary = Summarize(out.path(), 1, options);
  int64_t of_modules = 0;
  for (const RangeRow& row : summary.ranges) {
    if (!row.name.starts_with('(')) of_modules += row.kernels;
  }
  EXPECT_EQ(of_modules, 422);
  ASSERT_EQ(summary.steps.size(), 1u);
  EXPECT_EQ(summary.steps[0].work.decode, 32);
}

}  // namespace
}  // namespace lanescope::traces
