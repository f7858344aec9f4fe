// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a file of the other profilers: the first byte chooses which.
#include <cstdint>
#include <iterator>

#include "tests/fuzz/import_attempt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr const char* kNames[] = {"step.pb",     "vm.xplane.pb",    "job.1.et",   "run.nvprof",
                                    "print.csv",   "results.json",    "results.db", "rank.sqlite",
                                    "snap.pickle", "profile.pftrace", "et.json"};
  if (size == 0) return 0;
  lanescope::TryImport(kNames[data[0] % std::size(kNames)],
                       {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
