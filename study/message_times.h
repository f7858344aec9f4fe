// What messages between the tasks of a job take, each alone, with all that the processes do for them, and how
// soon what waits for them goes on: measured on a graph made for this, which is none that anybody compares.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "exec/measure.h"
#include "sims/step_samples.h"
#include "study/cancellation.h"
#include "study/handoff_chain.h"
#include "study/job.h"

namespace lanescope::study {

class RecordedRun;
class Workload;

// One command behind the other. From the first task to every other one and back: between their hosts messages
// of 1 KiB to 4 MiB, but for what takes longer than 20 ms by the machine, and dependencies without content;
// between their GPUs, where these are virtual, 1 KiB. All processes of the job make the same calls. Not
// thread-safe; machine and job must outlive it.
class MessageChain {
 public:
  // `job`: null, or of a process alone: then nothing is measured.
  MessageChain(const Machine& machine, Job* job, Cancellation* cancellation);
  ~MessageChain();

  // Four steps that are recorded, after one that is not. Throws Cancelled.
  void Run();
  // All steps. Of the first process; empty in the others.
  HandoffRun Finish();

 private:
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<RecordedRun> run_;  // null: there are no messages
};

// What the messages of these steps took, by their ends and sizes: medians.
std::vector<exec::LinkTime> TimesOfMessages(const Machine& machine, const HandoffRun& run);

// Whether a copy goes from the host of one task to that of another.
bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst);

}  // namespace lanescope::study
