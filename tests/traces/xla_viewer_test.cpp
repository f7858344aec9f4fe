// SPDX-License-Identifier: Apache-2.0
// The file that XLA's profiler writes for Chrome's viewer, without its XPlane file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/traces/imported.h"

namespace lanescope::traces {
namespace {

constexpr std::string_view kNames = R"json(
  {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
  {"ph": "M", "pid": 1, "tid": 14, "name": "thread_name", "args": {"name": "Stream #14(Compute)"}},
  {"ph": "M", "pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "XLA Modules"}},
  {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
  {"ph": "M", "pid": 701, "tid": 2099, "name": "thread_name", "args": {"name": "python3"}},)json";

Imported ImportOfEvents(const std::string& events) {
  ScratchFile in("host.trace.json");
  WriteFile(in.path(),
            "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [" + std::string(kNames) + events + "{}]}");
  return ImportOf(in.path());
}

// A step calls a kernel, whose time and launch the device's process tells; a copy says its ends.
TEST(XlaViewerTest, KernelsCopiesCallsAndSteps) {
  const auto [counts, run, summary] = ImportOfEvents(R"(
  {"ph": "X", "pid": 701, "tid": 2099, "ts": 0, "dur": 900, "name": "train", "args": {"step_num": "4"}},
  {"ph": "X", "pid": 701, "tid": 2099, "ts": 10, "dur": 5, "name": "cuLaunchKernel",
   "args": {"correlation_id": "7"}},
  {"ph": "X", "pid": 1, "tid": 14, "ts": 20.5, "dur": 8.25, "name": "gemm_fusion_dot_4",
   "args": {"correlation_id": "7", "tf_op": "XlaModule:", "kernel_details":
   "regs:184 static_shared:0 dynamic_shared:49152 grid:128,1,1 block:64,1,1 occ_pct:12.5"}},
  {"ph": "X", "pid": 1, "tid": 14, "ts": 40, "dur": 2, "name": "MemcpyD2D",
   "args": {"memcpy_details": "kind_src:device kind_dst:device size:4096 dest:0 async:1"}},
  {"ph": "X", "pid": 1, "tid": 3, "ts": 20, "dur": 22, "name": "jit_step"},)");
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.Text(run.launches[0].name), "gemm_fusion_dot_4");
  EXPECT_EQ(run.launches[0].end_ns - run.launches[0].start_ns, 8'250);
  ASSERT_EQ(run.api_calls.size(), 1u);
  EXPECT_EQ(run.launches[0].api, 0);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 4096);
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.steps[0].step, 4);
  EXPECT_EQ(counts.left_out.at("XLA Modules"), 1);
}

// Processes of other programs keep what they are, whatever stands beside them.
TEST(XlaViewerTest, OtherProcessesAreNone) {
  const auto [counts, run, summary] = ImportOfEvents(R"(
  {"ph": "X", "pid": 9, "tid": 1, "ts": 0, "dur": 900, "name": "elsewhere"},
  {"ph": "X", "pid": 1, "tid": 14, "ts": -5, "dur": -1, "name": "no length"},
  {"ph": "X", "pid": 1, "tid": 14, "ts": 20, "dur": 8, "name": "fusion"},)");
  EXPECT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(counts.left_out.at("elsewhere"), 1);
  EXPECT_EQ(counts.skipped, 1);
}

}  // namespace
}  // namespace lanescope::traces
