// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of strategies that write another graph.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/base/error.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// The first fetch after some steps.
inline float LossAfter(const Workload& workload, const std::string& strategy, const Machine& machine,
                       int steps) {
  RecordedRun run(Place(workload, strategy, machine, RooflineCost()), machine, nullptr, {});
  run.RunToEnd(0, steps);
  return run.last_fetches().front().data<float>()[0];
}

// The message of an InvalidArgument; empty: `run` was not refused.
inline std::string RefusalOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "";
}

}  // namespace lanescope::study
