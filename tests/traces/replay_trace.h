// SPDX-License-Identifier: Apache-2.0
// Traces made for replays: their activities are few, so that what a change makes of them can be counted.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "traces/read/synchronizations.h"
#include "traces/replay/what_if.h"

namespace lanescope::traces {

using Times = std::vector<int64_t>;

// Times in microseconds. Rank r is process r + 1 with one thread and sees GPU r.
class ReplayTrace {
 public:
  ReplayTrace() {
    run_.texts = {"gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel", "cudaDeviceSynchronize",
                  "cudaMemcpyAsync"};
  }
  int Call(int64_t start, int64_t end, int name = 2, int rank = 0) {
    TraceApiCall call;
    call.start_ns = 1000 * start;
    call.end_ns = 1000 * end;
    call.global_tid = ProcessOf(rank) + 1;
    call.name = name;
    call.correlation = static_cast<int64_t>(run_.api_calls.size());
    run_.api_calls.push_back(call);
    return static_cast<int>(run_.api_calls.size()) - 1;
  }
  void Kernel(int call, int64_t start, int64_t end, int name = 0, int rank = 0, int stream = 7) {
    TraceLaunch launch;
    Fill(call, start, end, rank, stream, &launch);
    launch.name = name;
    run_.launches.push_back(launch);
  }
  void Copy(int call, int64_t start, int64_t end, int64_t kind, int stream = 7) {
    TraceCopy copy;
    Fill(call, start, end, 0, stream, &copy);
    copy.kind = static_cast<int>(kind);
    copy.copy_class = kind == 1 ? CopyClass::kHostToDevice : CopyClass::kDeviceToHost;
    run_.copies.push_back(copy);
  }
  // Rounded to microseconds: {measured, replayed, predicted}.
  std::vector<int64_t> Simulate(const std::vector<std::string>& changes,
                                const std::vector<TraceSynchronization>& synchronizations = {}) const {
    const WhatIf what_if = FindWhatIf(BuildReplayGraph(run_, synchronizations), changes);
    EXPECT_EQ(what_if.replayed.step_ns(), static_cast<int64_t>(what_if.replayed_ns()));
    EXPECT_EQ(what_if.predicted.step_ns(), static_cast<int64_t>(what_if.predicted_ns()));
    const auto rounded = [](double ns) { return static_cast<int64_t>(ns / 1000 + 0.5); };
    return {rounded(what_if.measured_ns()), rounded(what_if.replayed_ns()), rounded(what_if.predicted_ns())};
  }
  Code CodeOf(const std::string& change, const std::string& text) const {
    try {
      FindWhatIf(BuildReplayGraph(run_, {}), {change});
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr(text));
      return error.code();
    }
    return Code::kUnknown;
  }
  TraceRun& run() { return run_; }
  const TraceRun& run() const { return run_; }

 private:
  static int64_t ProcessOf(int rank) { return int64_t{rank + 1} << 48; }
  template <typename Activity>
  void Fill(int call, int64_t start, int64_t end, int rank, int stream, Activity* activity) {
    activity->device = rank;
    activity->stream = stream;
    activity->global_pid = ProcessOf(rank);
    activity->start_ns = 1000 * start;
    activity->end_ns = 1000 * end;
    activity->api = call;
  }

  TraceRun run_;
};

}  // namespace lanescope::traces
