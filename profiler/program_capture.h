// SPDX-License-Identifier: Apache-2.0
// Capturing another program.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/capture_session.h"

namespace lanescope::profiler {

struct ProgramCaptureOptions {
  std::vector<std::string> words;  // the program, searched in PATH, and its arguments
  CaptureMode mode = CaptureMode::kFull;
  double delay_s = 0;      // record from then on
  double duration_s = 0;   // for so long; 0: until the end
  std::string nvtx_range;  // only inside ranges with this text; empty: always
};

struct ProgramCaptureResult {
  int run = 0;
  int status = 0;  // of the program; 128 and the signal that ended it
  bool interrupted = false;
  int processes = 0;  // that were captured
  int64_t rows = 0, device_rows = 0;
  std::string nothing;  // why there are no rows of devices; empty: there are
  std::vector<std::string> notes;
};

// The injection library of this program; empty where it has none.
std::string InjectionLibrary();

// Runs the program with the standard streams of this one, and appends what it and its children do on GPUs,
// and their NVTX ranges, to the trace as a new run. A machine without GPUs or CUDA only runs the program.
// When `ended_by` becomes the number of a signal the program gets it too, then SIGTERM, then SIGKILL; the
// trace is kept and says so. The run is marked incomplete when the program was ended by a signal, or a
// captured process went without its last records. Throws NotFound when the program cannot be started.
ProgramCaptureResult CaptureProgram(const ProgramCaptureOptions& options, const std::string& trace,
                                    const std::atomic<int>& ended_by);

}  // namespace lanescope::profiler
