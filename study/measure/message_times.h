// SPDX-License-Identifier: Apache-2.0
// Times of messages between the tasks of a job, each alone, with all that the processes do for them, and how
// soon what waits for them goes on.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "exec/measure/measure.h"
#include "study/base/cancellation.h"
#include "study/job/job.h"
#include "study/measure/recorded_chain.h"

namespace lanescope::study {

// One command behind the other. From the first task to every other one and back: between their hosts messages
// of 1 KiB to 4 MiB, but for what takes longer than 20 ms by the machine, and dependencies without content;
// between their GPUs, where these are virtual, 1 KiB. All processes of the job make the same calls. Null for
// a process alone.
std::unique_ptr<RecordedChain> MakeMessageChain(const Machine& machine, Job* job, Cancellation* cancellation);
// Measures that with messages of 1 KiB between the hosts alone.
std::unique_ptr<RecordedChain> MakeSmallMessageChain(const Machine& machine, Job* job,
                                                     Cancellation* cancellation);

// Times of the messages of these steps, by their ends and sizes: medians.
std::vector<exec::LinkTime> TimesOfMessages(const Machine& machine, const ChainRun& run);

// The time that messages take of processors: each of its two ends, and where it is received each byte on top.
struct MessageOverhead {
  int64_t end_ns = 0;
  double byte_ns = 0;
};
// From the steps of both chains. Nothing without them.
MessageOverhead OverheadOfMessages(const Machine& machine, const ChainRun& small, const ChainRun& all);

// Whether a copy goes from the host of one task to that of another.
bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst);

}  // namespace lanescope::study
