// SPDX-License-Identifier: Apache-2.0
// A layer under SQLite that counts the steps by which it changes files, and makes one of them fail or be the
// last thing its process does.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope {

enum class FileFault {
  kEndBefore,   // the process ends before the step
  kEndHalfway,  // of a write, half the sectors reach the file; other steps happen whole. Then the process
                // ends
  kFail,        // the step does nothing and reports `code`
};

// The layer of every connection that is opened while one of these lives; one at a time. Steps are: creating a
// file or making room for its shared memory, writing, truncating, syncing, deleting. Arm it while no
// connection is in use; the steps themselves may be on any thread. Nothing is really synced: a process that
// ends loses nothing that the system holds already.
class FaultyFiles {
 public:
  // How a process ends at a fault.
  static constexpr int kEnded = 77;

  FaultyFiles();
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  // Step number `at` from now on, counted from 1, has the fault; with `lasting`, so has every one after it.
  void Arm(FileFault fault, int64_t at, bool lasting = false, int code = kDiskFull);
  void Disarm();
  // Steps since the last Arm.
  int64_t steps() const;

  static constexpr int kDiskFull = 13;  // SQLITE_FULL
};

}  // namespace lanescope
