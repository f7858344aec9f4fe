// SPDX-License-Identifier: Apache-2.0
// A receiver of the activities of a run one by one, so that nobody needs to hold them all.
// Internal to traces.
#pragma once

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Gets what TraceReader::ReadRun would keep, with the same numbers: table by table, each in the order of the
// file. Called by one thread.
class RunSink {
 public:
  virtual ~RunSink() = default;
  // Whether the run keeps its API calls, so that activities can name theirs; else only where it has ranges.
  virtual bool keeps_calls() const { return false; }
  // First, with all of the run but what follows. It stays where it is and grows: texts come with the
  // activities that name them, and ranges that are open end, and steps that ranges make begin, after the
  // last.
  virtual void Begin(const TraceRun& run) = 0;
  virtual void Call(const TraceApiCall& call) = 0;
  // `moved`: what a kernel of NCCL moves, where the file says it; else null.
  virtual void Launch(const TraceLaunch& launch, const TraceCollective* moved) = 0;
  virtual void Copy(const TraceCopy& copy) = 0;
  virtual void Memset(const TraceMemset& memset) = 0;
};

// Gives a sink what a run in memory holds.
void Replay(const TraceRun& run, RunSink* sink);

}  // namespace lanescope::traces
