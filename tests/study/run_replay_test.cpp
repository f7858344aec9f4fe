// SPDX-License-Identifier: Apache-2.0
// The identity replay of recorded runs: of an H100's recordings, tests/golden/accuracy.
#include "study/predict/run_replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "traces/read/trace_reader.h"

namespace lanescope::study {
namespace {

std::string Recording(const std::string& name) {
  return std::string(LANESCOPE_ACCURACY_TRACES) + "/" + name + ".db";
}

// Law: a run's own durations under its own schedule take the time that it took.
TEST(RunReplay, TakesTheTimeThatItTook) {
  traces::TraceReader reader(Recording("h100_gpt"));
  for (const traces::TraceRunInfo& info : reader.Runs()) {
    if (info.simulated) continue;
    const sims::ReplayReport report = ReplayRun(&reader, info.id);
    SCOPED_TRACE(info.strategy);
    ASSERT_FALSE(report.measured_ns.empty());
    EXPECT_EQ(report.measured_ns.size(), report.replayed_ns.size());
    EXPECT_LE(std::abs(report.error), 0.0105);
  }
}

TEST(RunReplay, OnlyMeasuredRunsReplay) {
  traces::TraceReader reader(Recording("h100_cifar10"));
  for (const traces::TraceRunInfo& info : reader.Runs()) {
    if (!info.simulated) continue;
    try {
      ReplayRun(&reader, info.id);
      ADD_FAILURE() << "a prediction was replayed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    }
  }
}

}  // namespace
}  // namespace lanescope::study
