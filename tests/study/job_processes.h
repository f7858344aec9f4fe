// SPDX-License-Identifier: Apache-2.0
// The processes of a job as threads of a test.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "study/job/job.h"
#include "tests/support/memory_transport.h"

namespace lanescope::study {

// Runs `work` in each; it must not throw.
inline void AsProcesses(int processes, const std::function<void(Job* job)>& work) {
  test::MessageBoard board(processes);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < processes; ++rank) {
    threads.emplace_back([&, rank] {
      test::MemoryTransport transport(&board, rank);
      Job job(&transport);
      work(&job);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lanescope::study
