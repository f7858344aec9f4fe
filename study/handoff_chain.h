// How long a device takes to notice that what it waited for has ended, and to begin its next copy: measured
// on a chain of commands made for this, which is no graph that anybody compares.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "study/cancellation.h"

namespace lanescope::study {

class RecordedRun;
class Workload;

// Recorded steps of the chain; empty where the machine has no two virtual GPUs.
struct HandoffRun {
  std::shared_ptr<const Schedule> schedule;
  std::vector<Event> events;
};

// An element-wise op on one virtual GPU, copies of its halves to the other, one after the other, the same op
// there and back, and so on; then a chain of ops on alternating GPUs that wait for each other without data.
// At every moment one command runs, so that no hand-off waits for a core. Whether a core that had nothing to
// do is awake soon changes with what the machine did before: steps are taken again and again, between others.
// Not thread-safe; the machine must outlive it.
class HandoffChain {
 public:
  explicit HandoffChain(const Machine& machine, Cancellation* cancellation = nullptr);
  ~HandoffChain();

  // Four steps that are recorded, after one that is not; some hundredths of a second, by the speed of the
  // links. Throws Cancelled.
  void Run();
  // All steps.
  HandoffRun Finish();

 private:
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<RecordedRun> run_;  // null: the machine has no two virtual GPUs
};

// A chain by itself. Throws Cancelled.
HandoffRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation = nullptr);

}  // namespace lanescope::study
