// SPDX-License-Identifier: Apache-2.0
// Profiles of ONNX Runtime: made here as it writes them, with their truth beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/import/import.h"

namespace lanescope::traces {
namespace {

// Two runs of a model: a convolution on the host, 10 and 12 us, and a product that another provider hands to
// a GPU, where its kernel takes 30 and 31 us on stream 7. Times are in microseconds.
constexpr std::string_view kProfile = R"([
{"cat":"Session","pid":9,"tid":9,"dur":500,"ts":3,"ph":"X","name":"session_initialization","args":{}},
{"cat":"Node","pid":9,"tid":9,"dur":10,"ts":1001,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider","node_index":"0"}},
{"cat":"Node","pid":9,"tid":9,"dur":0,"ts":1011,"ph":"X","name":"conv1_fence_after","args":{"op_name":"Conv"}},
{"cat":"Node","pid":9,"tid":9,"dur":5,"ts":1012,"ph":"X","name":"fc_kernel_time","args":{"op_name":"Gemm","provider":"CUDAExecutionProvider","node_index":"1"}},
{"cat":"Kernel","pid":-1,"tid":-1,"dur":30,"ts":1014,"ph":"X","name":"gemm","args":{"stream":"7","grid_x":"4","grid_y":"2","grid_z":"1","block_x":"128","block_y":"1","block_z":"1","op_name":"Gemm"}},
{"cat":"Session","pid":9,"tid":9,"dur":60,"ts":1000,"ph":"X","name":"model_run","args":{}},
{"cat":"Node","pid":9,"tid":9,"dur":12,"ts":2001,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider","node_index":"0"}},
{"cat":"Kernel","pid":-1,"tid":-1,"dur":31,"ts":2014,"ph":"X","name":"gemm","args":{"stream":"7","grid_x":"4","grid_y":"2","grid_z":"1","block_x":"128","block_y":"1","block_z":"1"}},
{"cat":"Session","pid":9,"tid":9,"dur":70,"ts":2000,"ph":"X","name":"model_run","args":{}}
])";

TEST(OnnxRuntimeTest, NodesKernelsAndRunsOfTheModel) {
  ScratchFile in("profile.json");
  WriteFile(in.path(), kProfile);
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 4);
  EXPECT_EQ(run.steps.size(), 2u);
  ASSERT_EQ(summary.host_activities.size(), 1u);
  EXPECT_EQ(summary.host_activities[0].name, "conv1");
  EXPECT_EQ(summary.host_activities[0].total_ns, 22'000);
  ASSERT_EQ(summary.gpu_activities.size(), 1u);
  EXPECT_EQ(summary.gpu_activities[0].name, "gemm");
  EXPECT_EQ(summary.gpu_activities[0].total_ns, 61'000);
}

// Law: a node that runs others takes their time, so it is a range around them: of a loop of 50 us with
// products of 20 us each in its body, 40 us are kernels (ONNX Runtime 1.32).
TEST(OnnxRuntimeTest, ANodeThatRunsOthersIsARange) {
  ScratchFile in("profile.json");
  WriteFile(in.path(), R"([
{"cat":"Node","pid":9,"tid":9,"dur":20,"ts":1002,"ph":"X","name":"body_kernel_time","args":{"op_name":"MatMul","provider":"CPUExecutionProvider"}},
{"cat":"Node","pid":9,"tid":9,"dur":20,"ts":1024,"ph":"X","name":"body_kernel_time","args":{"op_name":"MatMul","provider":"CPUExecutionProvider"}},
{"cat":"Node","pid":9,"tid":9,"dur":50,"ts":1001,"ph":"X","name":"loop_kernel_time","args":{"op_name":"Loop","provider":"CPUExecutionProvider"}},
{"cat":"Session","pid":9,"tid":9,"dur":60,"ts":1000,"ph":"X","name":"model_run","args":{}}
])");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 2);
  ASSERT_EQ(summary.host_activities.size(), 1u);
  EXPECT_EQ(summary.host_activities[0].total_ns, 40'000);
}

// Law: an event that does not say when it was is counted, and spoils nothing.
TEST(OnnxRuntimeTest, EventsWithoutTimesAreCounted) {
  ScratchFile in("profile.json");
  WriteFile(in.path(), R"([{"cat":"Node","ph":"X","name":"a_kernel_time","ts":-1e300,"dur":1,"args":[]},
    {"cat":"Session","ph":"X","name":7,"ts":1,"dur":1},
    {"cat":"Node","pid":1,"tid":1,"ph":"X","name":"b_kernel_time","ts":1,"dur":2,"args":"none"}])");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.skipped, 2);
}

}  // namespace
}  // namespace lanescope::traces
