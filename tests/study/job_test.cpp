// SPDX-License-Identifier: Apache-2.0
#include "study/job/job.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/base/expect_error.h"
#include "tests/study/job_processes.h"

namespace lanescope::study {
namespace {

// Law: the first process gets it whole, in however many messages, and the others nothing.
TEST(Job, WhatAProcessHandsInReachesTheFirstWhole) {
  const std::string large(static_cast<size_t>((1 << 26) + 5), 'x');
  for (const std::string& text : {std::string(), std::string("a\0b", 3), large}) {
    for (const int from : {0, 2}) {
      AsProcesses(3, [&](Job* job) {
        const int rank = job->transport()->rank();
        const std::string got = job->HandIn(from, rank == from ? text : "", nullptr);
        EXPECT_TRUE(got == (rank == 0 ? text : "")) << rank << " of " << text.size();
      });
    }
  }
}

// Law: who waits for a process that never comes ends once cancelled.
TEST(Job, WaitingEndsWhenCancelled) {
  AsProcesses(2, [](Job* job) {
    if (!job->is_first()) return;
    Cancellation cancellation;
    cancellation.Cancel();
    job->StartTogether(&cancellation);
    EXPECT_EQ(ErrorOf([&] { job->HandIn(1, "", &cancellation); }), "Cancelled: it was stopped");
  });
}

}  // namespace
}  // namespace lanescope::study
